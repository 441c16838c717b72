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
