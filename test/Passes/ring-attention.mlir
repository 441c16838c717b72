// RUN: tpsp-opt %s --split-input-file --tpsp-ring-attention=attention=ring | FileCheck %s
// RUN: tpsp-opt %s --split-input-file --tpsp-ring-attention=attention=ring --remarks-filter='tpsp-ring.*' --remark-policy=all 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: tpsp-opt %s --split-input-file --tpsp-ring-attention=attention=fused | FileCheck %s --check-prefix=OFF

// OFF-NOT: hand_on

tpsp.mesh @mesh <cp = 3>
!q = tensor<12x8xf32, #tpsp.idx<s@cp, k>>
!k = tensor<12x8xf32, #tpsp.idx<t@cp, k>>
!l = tensor<12xf32, #tpsp.idx<s, ?>>
!g = tensor<12x8xf32, #tpsp.idx<t, k, ?>>
!gq = tensor<12x8xf32, #tpsp.idx<s, k, ?>>

// Without a mask: a call for each shard of keys, which are handed to the next
// shard between calls. Gradients of keys go back by as many shards.
// CHECK-LABEL: func.func @whole
func.func @whole(%q: !q, %k: !k, %v: !k, %g: !q) -> (!q, !gq, !g, !g) {
  // CHECK: %[[Q:.*]] = tpsp.split %arg0 {{.*}}#tpsp.idx<s.shard, s.in, k, ?>>
  // CHECK: %[[K:.*]] = tpsp.split %arg1 {{.*}}#tpsp.idx<s.shard, t.in, k, ?>>
  // CHECK: tpsp.attention %[[Q]], %[[K]], {{.*}}key = "t.in", query = "s.in"
  // CHECK: %[[K1:.*]] = tpsp.hand_on %[[K]] {by = 1 : i64, index = "s.shard"}
  // CHECK: tpsp.attention %[[Q]], %[[K1]],
  // CHECK: %[[K2:.*]] = tpsp.hand_on %[[K1]] {by = 1 : i64, index = "s.shard"}
  // CHECK: tpsp.attention %[[Q]], %[[K2]],
  // CHECK: %[[O:.*]] = tpsp.merge
  // CHECK: %[[L:.*]] = tpsp.merge
  %o, %l = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k"} : (!q, !k, !k) -> (!q, !l)
  // CHECK: %[[OS:.*]] = tpsp.split %[[O]]
  // CHECK: %[[LS:.*]] = tpsp.split %[[L]]
  // CHECK: tpsp.attention_gradient {{.*}}%[[OS]], %[[LS]]
  // CHECK: %{{.*}}, %[[GK:.*]], %[[GV:.*]] = tpsp.attention_gradient {{.*}}%[[OS]], %[[LS]]
  // CHECK: tpsp.hand_on %[[GK]] {by = -1 : i64
  // CHECK: tpsp.hand_on %[[GV]] {by = -1 : i64
  // CHECK: %{{.*}}, %[[GK2:.*]], %{{.*}} = tpsp.attention_gradient {{.*}}%[[OS]], %[[LS]]
  // CHECK: tpsp.hand_on %[[GK2]] {by = -2 : i64
  %gq, %gk, %gv = tpsp.attention_gradient %q, %k, %v, %o, %l, %g {query = "s", key = "t", feature = "k"} : (!q, !k, !k, !q, !l, !q) -> (!gq, !g, !g)
  return %o, %gq, %gk, %gv : !q, !gq, !g, !g
}

// -----

tpsp.mesh @mesh <cp = 2>
!q = tensor<12x8xf32, #tpsp.idx<s@cp, k>>
!k = tensor<12x8xf32, #tpsp.idx<t@cp, k>>

// Under a mask: halves of shards, of which the second is exchanged with the
// mirrored shard. The shard's own keys take three calls. Keys of another take
// two without a mask, of which the second is for selected halves.
// CHECK-LABEL: func.func @causal
// CHECK: %[[OWN:.*]] = tpsp.take {{.*}}at = 0 : i64, index = "s.half"
// CHECK: %[[SENT:.*]] = tpsp.take {{.*}}at = 1 : i64, index = "s.half"
// CHECK: %[[OTHER:.*]] = tpsp.hand_on %[[SENT]] {by = 1 : i64, index = "s.shard", mirrored}
// CHECK: tpsp.clamp {{.*}}high = 1.000000e+00 : f64, low = 0.000000e+00 : f64
// CHECK: %[[FIRST:.*]] = tpsp.compare
// CHECK: %[[EARLY:.*]] = tpsp.select %[[FIRST]], %[[OWN]], %[[OTHER]]
// CHECK: %[[LATE:.*]] = tpsp.select %[[FIRST]], %[[OTHER]], %[[OWN]]
// CHECK: tpsp.attention %[[EARLY]], {{.*}}causal
// CHECK: tpsp.attention %[[LATE]],
// CHECK-NOT: causal
// CHECK: tpsp.attention %[[LATE]], {{.*}}causal
// CHECK-NOT: causal
// CHECK: tpsp.attention %[[LATE]]
// CHECK: tpsp.shift {{.*}}by = -1.000000e+00
// CHECK: %[[SEES:.*]] = tpsp.compare
// CHECK: %[[SELECTED:.*]] = tpsp.select %[[SEES]], %[[EARLY]], %[[LATE]]
// CHECK: tpsp.attention %[[SELECTED]]
// CHECK-NOT: tpsp.attention
// CHECK: tpsp.stack
func.func @causal(%q: !q, %k: !k, %v: !k) -> !q {
  %o = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal} : (!q, !k, !k) -> !q
  return %o : !q
}

// -----

tpsp.mesh @mesh <cp = 2, tp = 1>
!q = tensor<14x8xf32, #tpsp.idx<s@cp, k>>
!k = tensor<14x8xf32, #tpsp.idx<t@cp, k>>
!all = tensor<14x8xf32, #tpsp.idx<t, k>>
!bias = tensor<14x14xf32, #tpsp.idx<s@cp, t>>
!n = tensor<i32, #tpsp.idx<>>
!step = tensor<f32, #tpsp.idx<>>
// CHECK-LABEL: func.func @gathered
// CHECK-NOT: hand_on
// REMARK: no axes divide its queries and its keys alike
// REMARK: shards of 7 positions have no halves
// REMARK: it has a window
// REMARK: it has chunks
// REMARK: it has a bias
// REMARK: it has lengths
func.func @gathered(%q: !q, %k: !k, %v: !k, %all: !all, %bias: !bias, %n: !n) -> (!q, !q, !q, !q, !q, !q) {
  %0 = tpsp.attention %q, %all, %all {query = "s", key = "t", feature = "k"} : (!q, !all, !all) -> !q
  %1 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal} : (!q, !k, !k) -> !q
  %2 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal, window = 13} : (!q, !k, !k) -> !q
  %5 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal, chunk = 13} : (!q, !k, !k) -> !q
  %3 = tpsp.attention %q, %k, %v, %bias {query = "s", key = "t", feature = "k"} : (!q, !k, !k, !bias) -> !q
  %4 = tpsp.attention %q, %k, %v, %n {query = "s", key = "t", feature = "k"} : (!q, !k, !k, !n) -> !q
  return %0, %1, %2, %3, %4, %5 : !q, !q, !q, !q, !q, !q
}
