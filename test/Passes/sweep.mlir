// Attention by blocks of keys, on one rank's shapes. States are f32.
// DEFINE: %{sweep} = tpsp-opt %s --split-input-file --pass-pipeline='builtin.module(tpsp-decompose-early{attention=blocks},tpsp-propagate,tpsp-differentiate,tpsp-drop-primals,tpsp-insert-collectives,tpsp-fuse-collectives,tpsp-partition,tpsp-sweep{attention-block=4})'
// RUN: %{sweep} | FileCheck %s
// RUN: %{sweep} | FileCheck %s --check-prefix=NONE
// NONE-NOT: tpsp.attention
// NONE-NOT: tpsp.all_gather
// NONE-NOT: tpsp.reduce_scatter

// Keys and values are gathered for attention alone, so they go around a ring,
// own tile first; a gradient's tile goes to its owner, who adds up.
// CHECK-LABEL: func.func @ring_grad(
// CHECK-SAME: %[[Q:.*]]: tensor<1x4x2x4xbf16, {{.*}}s@cp, h, k, local>>, %[[K:.*]]: tensor<{{.*}}>, %[[V:.*]]: tensor<{{.*}}>, %[[G:.*]]: tensor
// CHECK: %[[K0:.*]] = tpsp.rename %[[K]] : {{.*}}t@cp{{.*}} -> {{.*}}<b, t, h, k, local>
// CHECK: %[[V0:.*]] = tpsp.rename %[[V]]
// CHECK: %[[Z0:.*]] = tpsp.einsum %[[Q]], %[[K0]] :
// CHECK: tpsp.convert %[[Z0]] : {{.*}} -> tensor<1x2x4x4xf32, #tpsp.idx<b, h, s@cp, t, local>>
// CHECK: tpsp.causal_mask {{.*}}shift = 0, offset = 0
// CHECK: %[[TOP0:.*]] = tpsp.reduce {{.*}}kind = "max"
// CHECK-NEXT: %[[M0:.*]] = tpsp.clamp %[[TOP0]] {low = -3.4{{.*}}E+38 : f64}
// CHECK: %[[E0:.*]] = tpsp.exp
// CHECK: %[[P0:.*]] = tpsp.convert %[[E0]] : {{.*}} -> {{.*}}xbf16
// CHECK: %[[L0:.*]] = tpsp.reduce %[[E0]]
// CHECK: tpsp.einsum %[[P0]], %[[V0]]
// CHECK: %[[K1:.*]] = tpsp.rotate %[[K0]] ["cp"] by 1 {ledger = #plan.ledger<kind = "all_gather", {{.*}}phase = "forward", bytes = 64,
// CHECK: tpsp.einsum %[[Q]], %[[K1]] :
// CHECK: tpsp.causal_mask {{.*}}shift = 1, offset = 0
// CHECK: %[[TOP:.*]] = tpsp.reduce {{.*}}kind = "max"
// CHECK: %[[M1:.*]] = tpsp.max %[[M0]], %[[TOP]]
// CHECK: %[[SHIFT:.*]] = tpsp.sub %[[M0]], %[[M1]]
// CHECK: %[[DECAY:.*]] = tpsp.exp %[[SHIFT]]
// CHECK: tpsp.mul %[[L0]], %[[DECAY]]
// CHECK: %[[V1:.*]] = tpsp.rotate %[[V0]]
// CHECK: %[[Y:.*]] = tpsp.div
// CHECK: tpsp.convert %[[Y]]
// Of the scores, the backward pass has the statistic.
// CHECK: %[[S:.*]] = tpsp.add {{.*}}tensor<1x2x4xf32
// CHECK: %[[BZ:.*]] = tpsp.einsum %[[Q]], {{.*}}tpsp.origin = #tpsp.origin<backward>
// CHECK: tpsp.sub %{{.*}}, %[[S]] {tpsp.origin = #tpsp.origin<backward>}
// A weight is rounded where it is made, for the product that comes last.
// CHECK-NEXT: tpsp.exp
// CHECK-NEXT: tpsp.convert {{.*}} -> tensor<1x2x4x4xbf16
// CHECK: tpsp.rotate {{.*}}kind = "all_gather", {{.*}}phase = "backward"
// CHECK: %[[HOME:.*]] = tpsp.rotate {{.*}} by 1 {ledger = #plan.ledger<kind = "reduce_scatter", {{.*}}phase = "backward", bytes = 64,
// CHECK: tpsp.rename %[[HOME]] {{.*}}sum@cp{{.*}} -> {{.*}}<b, t@cp, h, k, local>
// CHECK: tpsp.add {{.*}}xf32
tpsp.mesh @mesh <cp = 2>
!q = tensor<1x8x2x4xbf16, #tpsp.idx<b, s@cp, h, k>>
!k = tensor<1x8x2x4xbf16, #tpsp.idx<b, t@cp, h, k>>
func.func @ring(%q: !q, %k: !k, %v: !k) -> !q {
  %y = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal}
     : (!q, !k, !k) -> !q
  return %y : !q
}

// -----

// No axis on the keys: parts of the tensor. Eight keys, two blocks of four;
// gradients of keys and values are stacked.
// CHECK-LABEL: func.func @parts_grad(
// CHECK: tpsp.split %{{.*}} -> tensor<1x2x4x2x4xf64, #tpsp.idx<b@cp, t.block, t.in, h, k, local>>
// CHECK: tpsp.take %{{.*}} {at = 0 : i64, index = "t.block"}
// CHECK: tpsp.causal_mask {{.*}}extent = 8, shift = 0, offset = 0, axes = []
// CHECK: tpsp.take %{{.*}} {at = 1 : i64, index = "t.block"}
// CHECK: tpsp.causal_mask {{.*}}extent = 8, shift = 0, offset = 4, axes = []
// CHECK: tpsp.stack {{.*}}index = "t.block"
// CHECK: tpsp.merge
// CHECK-NOT: tpsp.rotate
// CHECK-NOT: tpsp.convert
tpsp.mesh @mesh <cp = 2>
!q = tensor<2x8x2x4xf64, #tpsp.idx<b@cp, s, h, k>>
!k = tensor<2x8x2x4xf64, #tpsp.idx<b@cp, t, h, k>>
func.func @parts(%q: !q, %k: !k, %v: !k) -> !q {
  %y = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal}
     : (!q, !k, !k) -> !q
  return %y : !q
}
