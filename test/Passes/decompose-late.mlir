// RUN: tpsp-opt %s --tpsp-decompose-late | FileCheck %s

tpsp.mesh @mesh <tp = 4>

// One rank's part of [s@tp, d].
!x = tensor<8x16xf32, #tpsp.idx<s@tp, d, local>>
!g = tensor<16xf32, #tpsp.idx<d, local>>

// CHECK-LABEL: @softmax
func.func @softmax(%x: !x) -> !x {
  // The maximum first, so that no exponential overflows; scaled after that.
  // CHECK-NEXT: %[[M:.*]] = tpsp.causal_mask %[[X:.*]] {fill = 0xFFF0000000000000 : f64, key = "d", query = "s"}
  // CHECK-NEXT: %[[H:.*]] = tpsp.reduce %[[M]] {kind = "max"} : {{.*}} -> tensor<8xf32, #tpsp.idx<s@tp, local>>
  // CHECK-NEXT: %[[D:.*]] = tpsp.sub %[[M]], %[[H]]
  // CHECK-NEXT: %[[C:.*]] = tpsp.scale %[[D]] {factor = 5.000000e-01 : f64}
  // CHECK-NEXT: %[[E:.*]] = tpsp.exp %[[C]]
  // CHECK-NEXT: %[[T:.*]] = tpsp.reduce %[[E]] :
  // CHECK-NEXT: %[[Y:.*]] = tpsp.div %[[E]], %[[T]]
  // CHECK-NEXT: return %[[Y]]
  %y = tpsp.softmax %x {over = "d", causal = "s", scale = 0.5} : !x
  return %y : !x
}

// With a sink, the scaled elements and the sink share a maximum.
// CHECK-LABEL: @sunk
// CHECK-SAME: %[[X:[a-z0-9]+]]: {{.*}}, %[[SINK:[a-z0-9]+]]:
func.func @sunk(%x: !x, %sink: tensor<8xf32, #tpsp.idx<s@tp, local>>) -> !x {
  // CHECK-NEXT: %[[C:.*]] = tpsp.scale %[[X]] {factor = 5.000000e-01 : f64}
  // CHECK-NEXT: %[[K:.*]] = tpsp.reduce %[[C]] {kind = "max"}
  // CHECK-NEXT: %[[H:.*]] = tpsp.max %[[K]], %[[SINK]]
  // CHECK-NEXT: %[[D:.*]] = tpsp.sub %[[C]], %[[H]]
  // CHECK-NEXT: %[[E:.*]] = tpsp.exp %[[D]]
  // CHECK-NEXT: %[[T:.*]] = tpsp.reduce %[[E]] :
  // CHECK-NEXT: %[[F:.*]] = tpsp.sub %[[SINK]], %[[H]]
  // CHECK-NEXT: %[[G:.*]] = tpsp.exp %[[F]]
  // CHECK-NEXT: %[[S:.*]] = tpsp.add %[[T]], %[[G]]
  // CHECK-NEXT: %[[Y:.*]] = tpsp.div %[[E]], %[[S]]
  // CHECK-NEXT: return %[[Y]]
  %y = tpsp.softmax %x, %sink {over = "d", scale = 0.5, hides} : (!x, tensor<8xf32, #tpsp.idx<s@tp, local>>) -> !x
  return %y : !x
}

!q = tensor<2x8x3x16xbf16, #tpsp.idx<b, s@tp, h, k, local>>
!k = tensor<2x9x3x16xbf16, #tpsp.idx<b, t, h, k, local>>
!l = tensor<2x3x8xf32, #tpsp.idx<b, h, s@tp, local>>
!h = tensor<3xbf16, #tpsp.idx<h, local>>

// A call of attention takes no sink. Its results are corrected in f32.
// CHECK-LABEL: @call
// CHECK-SAME: %[[Q:[a-z0-9]+]]: {{.*}}, %[[K:[a-z0-9]+]]: {{.*}}, %[[SINK:[a-z0-9]+]]:
func.func @call(%q: !q, %k: !k, %sink: !h) -> (!q, !l) {
  // CHECK-NEXT: %[[O:.*]], %[[L:.*]] = tpsp.attention %[[Q]], %[[K]], %[[K]] {causal
  // CHECK-NEXT: %[[S:.*]] = tpsp.convert %[[SINK]]
  // CHECK-NEXT: %[[A:.*]] = tpsp.sub %[[L]], %[[S]]
  // CHECK-NEXT: %[[P:.*]] = tpsp.softplus %[[A]]
  // CHECK-NEXT: %[[M:.*]] = tpsp.add %[[P]], %[[S]]
  // CHECK-NEXT: %[[G:.*]] = tpsp.sigmoid %[[A]]
  // CHECK-NEXT: %[[W:.*]] = tpsp.convert %[[O]]
  // CHECK-NEXT: %[[Y:.*]] = tpsp.mul %[[W]], %[[G]]
  // CHECK-NEXT: %[[Z:.*]] = tpsp.convert %[[Y]]
  // CHECK-NEXT: return %[[Z]], %[[M]]
  %o, %l = tpsp.attention %q, %k, %k, %sink {query = "s", key = "t", feature = "k", causal} : (!q, !k, !k, !h) -> (!q, !l)
  return %o, %l : !q, !l
}

// CHECK-LABEL: @rms_norm
// CHECK-SAME: %[[X:[a-z0-9]+]]: {{.*}}, %[[G:[a-z0-9]+]]:
func.func @rms_norm(%x: !x, %g: !g) -> !x {
  // CHECK-NEXT: %[[S:.*]] = tpsp.square %[[X]]
  // CHECK-NEXT: %[[T:.*]] = tpsp.reduce %[[S]]
  // CHECK-NEXT: %[[M:.*]] = tpsp.scale %[[T]] {factor = 6.250000e-02 : f64}
  // CHECK-NEXT: %[[E:.*]] = tpsp.shift %[[M]] {by = 1.000000e-05 : f64}
  // CHECK-NEXT: %[[R:.*]] = tpsp.rsqrt %[[E]]
  // CHECK-NEXT: %[[N:.*]] = tpsp.mul %[[X]], %[[R]]
  // CHECK-NEXT: %[[Y:.*]] = tpsp.mul %[[N]], %[[G]]
  // CHECK-NEXT: return %[[Y]]
  %y = tpsp.rms_norm %x, %g : (!x, !g) -> !x
  return %y : !x
}

// CHECK-LABEL: @layer_norm
// CHECK-SAME: %[[X:[a-z0-9]+]]: {{.*}}, %[[G:[a-z0-9]+]]: {{.*}}, %[[B:[a-z0-9]+]]:
func.func @layer_norm(%x: !x, %g: !g, %b: !g) -> !x {
  // CHECK-NEXT: %[[S:.*]] = tpsp.reduce %[[X]]
  // CHECK-NEXT: %[[M:.*]] = tpsp.scale %[[S]] {factor = 6.250000e-02 : f64}
  // CHECK-NEXT: %[[D:.*]] = tpsp.sub %[[X]], %[[M]]
  // CHECK-NEXT: %[[Q:.*]] = tpsp.square %[[D]]
  // CHECK-NEXT: %[[T:.*]] = tpsp.reduce %[[Q]]
  // CHECK-NEXT: %[[V:.*]] = tpsp.scale %[[T]] {factor = 6.250000e-02 : f64}
  // CHECK-NEXT: %[[E:.*]] = tpsp.shift %[[V]] {by = 1.000000e-05 : f64}
  // CHECK-NEXT: %[[R:.*]] = tpsp.rsqrt %[[E]]
  // CHECK-NEXT: %[[N:.*]] = tpsp.mul %[[D]], %[[R]]
  // CHECK-NEXT: %[[P:.*]] = tpsp.mul %[[N]], %[[G]]
  // CHECK-NEXT: %[[Y:.*]] = tpsp.add %[[P]], %[[B]]
  // CHECK-NEXT: return %[[Y]]
  %y = tpsp.layer_norm %x, %g, %b : (!x, !g, !g) -> !x
  return %y : !x
}

// CHECK-LABEL: @rope
func.func @rope(%x: !x) -> !x {
  // CHECK-NEXT: split {{.*}} -> tensor<8x2x8xf32, #tpsp.idx<s@tp, d.in, d.pair, local>>
  // CHECK-NEXT: rope_matrix {{.*}} -> tensor<8x2x2x8xf32, #tpsp.idx<s@tp, d.out, d.in, d.pair, local>>
  // CHECK-NEXT: mul
  // CHECK-NEXT: reduce {{.*}} -> tensor<8x2x8xf32, #tpsp.idx<s@tp, d.out, d.pair, local>>
  // CHECK-NEXT: merge
  // CHECK-NEXT: return
  %y = tpsp.rope %x {position = "s", feature = "d"} : !x
  return %y : !x
}

// CHECK-LABEL: @backward_mark
func.func @backward_mark(%x: !x) -> !x {
  // CHECK: square {{.*}}tpsp.origin = #tpsp.origin<backward>
  %0 = tpsp.square %x {tpsp.origin = #tpsp.origin<backward>} : !x
  // CHECK: reduce {{.*}}tpsp.origin = #tpsp.origin<backward>
  // CHECK: div {{.*}}tpsp.origin = #tpsp.origin<backward>
  %y = tpsp.softmax %0 {over = "d", tpsp.origin = #tpsp.origin<backward>} : !x
  return %y : !x
}

// After differentiation this view has no effect and is removed.
// CHECK-LABEL: @stop_gradient
// CHECK-SAME: %[[X:[a-z0-9]+]]:
func.func @stop_gradient(%x: !x) -> !x {
  // CHECK-NEXT: %[[Y:.*]] = tpsp.exp %[[X]]
  // CHECK-NEXT: return %[[Y]]
  %s = tpsp.stop_gradient %x : !x
  %y = tpsp.exp %s : !x
  return %y : !x
}
