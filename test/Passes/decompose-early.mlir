// RUN: tpsp-opt %s --tpsp-decompose-early | FileCheck %s
// RUN: tpsp-opt %s --tpsp-decompose-early --tpsp-propagate | FileCheck %s --check-prefix=PLACED

!q = tensor<2x8x4x2x16xf32, #tpsp.idx<b, s, h, r, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// Grouped queries: r shares keys and values. Scores and weights, as large as the
// sequence squared, are marked: tpsp-rematerialize may redo them.
// CHECK-LABEL: @attention
// CHECK-SAME: %[[Q:.*]]: {{.*}}, %[[K:.*]]: {{.*}}, %[[V:.*]]: tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>)
func.func @attention(%q: !q, %k: !k, %v: !k) -> !q {
  // CHECK-NEXT: %[[S:.*]] = tpsp.einsum %[[Q]], %[[K]] {tpsp.recompute} : {{.*}} -> tensor<2x4x2x8x8xf32, #tpsp.idx<b, h, r, s, t, ?>>
  // CHECK-NEXT: %[[P:.*]] = tpsp.softmax %[[S]] {causal = "s", over = "t", scale = 2.500000e-01 : f64, tpsp.recompute} : tensor<2x4x2x8x8xf32, #tpsp.idx<b, h, r, s, t, ?>>
  // CHECK-NEXT: %[[O:.*]] = tpsp.einsum %[[P]], %[[V]] : {{.*}} -> tensor<2x8x4x2x16xf32, #tpsp.idx<b, s, h, r, k>>
  // CHECK-NEXT: return %[[O]]
  %o = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.25, causal} : (!q, !k, !k) -> !q
  return %o : !q
}

// CHECK-LABEL: @not_causal
func.func @not_causal(%q: !q, %k: !k) -> !q {
  // CHECK: softmax %{{.*}} {over = "t", tpsp.recompute}
  %o = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k"} : (!q, !k, !k) -> !q
  return %o : !q
}

// CHECK-LABEL: @with_dropout
func.func @with_dropout(%q: !q, %k: !k) -> !q {
  // CHECK: %[[P:.*]] = tpsp.softmax
  // CHECK-NEXT: %[[D:.*]] = tpsp.dropout %[[P]] {rate = 1.000000e-01 : f64, seed = 7 : i64, tpsp.recompute}
  // CHECK-NEXT: tpsp.einsum %[[D]]
  %o = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", dropout = 0.1, seed = 7} : (!q, !k, !k) -> !q
  return %o : !q
}

// If a query may see no key, its weights are zeros. A bias of minus infinity
// hides like a mask.
!bias = tensor<2x8xf32, #tpsp.idx<b, t>>
!n = tensor<2xi32, #tpsp.idx<b>>
// CHECK-LABEL: @hidden
func.func @hidden(%q: !q, %k: !k, %bias: !bias, %n: !n) -> !q {
  // CHECK: %[[B:.*]] = tpsp.add_bias %{{.*}}, %arg2 {tpsp.recompute}
  // CHECK-NEXT: %[[N:.*]] = tpsp.length_mask %[[B]], %arg3 {fill = 0xFFF0000000000000 : f64, index = "t", tpsp.recompute}
  // CHECK-NEXT: %[[C:.*]] = tpsp.causal_mask %[[N]] {fill = 0xFFF0000000000000 : f64, key = "t", query = "s", tpsp.recompute}
  // CHECK-NEXT: tpsp.softmax %[[C]] {hides, over = "t", tpsp.recompute}
  // CHECK-NEXT: tpsp.einsum
  %o = tpsp.attention %q, %k, %k, %bias, %n {query = "s", key = "t", feature = "k", causal} : (!q, !k, !k, !bias, !n) -> !q
  return %o : !q
}

// Logits that are no keys' are an operand of the softmax.
!sink = tensor<4x2xf32, #tpsp.idx<h, r>>
// CHECK-LABEL: @sunk
func.func @sunk(%q: !q, %k: !k, %sink: !sink) -> !q {
  // CHECK: tpsp.softmax %{{.*}}, %arg2 {causal = "s", over = "t", scale = 5.000000e-01 : f64, tpsp.recompute}
  // CHECK-NEXT: tpsp.einsum
  %o = tpsp.attention %q, %k, %k, %sink {query = "s", key = "t", feature = "k", scale = 0.5, causal} : (!q, !k, !k, !sink) -> !q
  return %o : !q
}

// Attention under a window waits until it is placed. Queries that padding adds
// may see no key.
// CHECK-LABEL: @windowed
// PLACED-LABEL: @windowed
func.func @windowed(%q: !q, %k: !k) -> !q {
  // CHECK-NEXT: tpsp.attention {{.*}}tpsp.when_placed
  // PLACED: tpsp.causal_mask {{.*}}window = 3
  // PLACED-NEXT: tpsp.softmax %{{.*}} {hides, over = "t", tpsp.proposed, tpsp.recompute}
  %o = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", causal, window = 3} : (!q, !k, !k) -> !q
  return %o : !q
}

// Composites that keep their index structure stay.
// CHECK-LABEL: @stays
func.func @stays(%x: tensor<8x16xf32, #tpsp.idx<s, d>>, %g: tensor<16xf32, #tpsp.idx<d>>) {
  // CHECK-NEXT: rms_norm
  // CHECK-NEXT: softmax
  // CHECK-NEXT: rope
  // CHECK-NEXT: return
  %0 = tpsp.rms_norm %x, %g : (tensor<8x16xf32, #tpsp.idx<s, d>>, tensor<16xf32, #tpsp.idx<d>>) -> tensor<8x16xf32, #tpsp.idx<s, d>>
  %1 = tpsp.softmax %0 {over = "d"} : tensor<8x16xf32, #tpsp.idx<s, d>>
  %2 = tpsp.rope %1 {position = "s", feature = "d"} : tensor<8x16xf32, #tpsp.idx<s, d>>
  return
}
