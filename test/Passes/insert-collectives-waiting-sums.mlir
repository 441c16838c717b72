// Sums of the backward pass that are taken later.
// RUN: tpsp-opt %s --tpsp-insert-collectives | FileCheck %s --implicit-check-not=tpsp.all_reduce

tpsp.mesh @mesh <rep = 2>

!go = tensor<8x4x16xf32, #tpsp.idx<s, r@rep, k>>
!p  = tensor<4x8x8xf32, #tpsp.idx<r@rep, s, t>>
!gk = tensor<8x16xf32, #tpsp.idx<t, k>>
!gq = tensor<8x4x16xf32, #tpsp.idx<t, r@rep, k>>
!wk = tensor<16x32xf32, #tpsp.idx<k, d>>
!wq = tensor<4x16x32xf32, #tpsp.idx<r@rep, k, d>>
!x  = tensor<8x32xf32, #tpsp.idx<t, d>>
!x_ = tensor<8x32xf32, #tpsp.idx<t, d, ?>>

// The gradient of a key/value head goes into a parameter's gradient, which is
// returned, and into a sum that is partial anyway: nothing is gained at once.
// CHECK-LABEL: @waits
func.func @waits(%go: !go, %p: !p, %gq: !gq, %x: !x, %wk: !wk {tpsp.param}, %wq: !wq {tpsp.param}) -> (!wk, !x) {
  // CHECK: einsum {{.*}} -> tensor<8x16xf32, #tpsp.idx<t, k | sum@rep>>
  %gk = tpsp.einsum %go, %p {tpsp.origin = #tpsp.origin<backward>} : (!go, !p) -> !gk
  // CHECK: %[[W:.*]] = tpsp.einsum {{.*}} -> tensor<16x32xf32, #tpsp.idx<k, d | sum@rep>>
  // CHECK: tpsp.all_reduce %[[W]]
  %gwk = tpsp.einsum %gk, %x {tpsp.origin = #tpsp.origin<backward>, tpsp.weight_gradient} : (!gk, !x) -> !wk
  %a = tpsp.einsum %gk, %wk {tpsp.origin = #tpsp.origin<backward>} : (!gk, !wk) -> !x_
  %b = tpsp.einsum %gq, %wq {tpsp.origin = #tpsp.origin<backward>} : (!gq, !wq) -> !x_
  // CHECK: %[[X:.*]] = tpsp.add {{.*}} #tpsp.idx<t, d | sum@rep>>
  // CHECK: tpsp.all_reduce %[[X]]
  %gx = tpsp.add %a, %b {tpsp.origin = #tpsp.origin<backward>} : (!x_, !x_) -> !x
  return %gwk, %gx : !wk, !x
}

// Through a view, and with the other part coming first.
// CHECK-LABEL: @waits_through_a_view
func.func @waits_through_a_view(%go: !go, %p: !p, %gq: !gq, %x: !x, %wk: !wk, %wq: !wq) -> !x {
  %b = tpsp.einsum %gq, %wq {tpsp.origin = #tpsp.origin<backward>} : (!gq, !wq) -> !x_
  %gk = tpsp.einsum %go, %p {tpsp.origin = #tpsp.origin<backward>} : (!go, !p) -> !gk
  %gu = tpsp.rename %gk {tpsp.origin = #tpsp.origin<backward>} : !gk -> tensor<8x16xf32, #tpsp.idx<u, k>>
  %gv = tpsp.rename %gu {tpsp.origin = #tpsp.origin<backward>} : tensor<8x16xf32, #tpsp.idx<u, k>> -> !gk
  %a = tpsp.einsum %gv, %wk {tpsp.origin = #tpsp.origin<backward>} : (!gk, !wk) -> !x_
  // CHECK: %[[X:.*]] = tpsp.add {{.*}} #tpsp.idx<t, d | sum@rep>>
  // CHECK: tpsp.all_reduce %[[X]]
  %gx = tpsp.add %a, %b {tpsp.origin = #tpsp.origin<backward>} : (!x_, !x_) -> !x
  return %gx : !x
}

// The sum has no other part that is partial: to wait would only move it.
// CHECK-LABEL: @only_returned
func.func @only_returned(%go: !go, %p: !p, %x: !x, %wk: !wk) -> (!wk, !x) {
  // CHECK: %[[G:.*]] = tpsp.einsum
  // CHECK: tpsp.all_reduce %[[G]]
  %gk = tpsp.einsum %go, %p {tpsp.origin = #tpsp.origin<backward>} : (!go, !p) -> !gk
  %gwk = tpsp.einsum %gk, %x {tpsp.origin = #tpsp.origin<backward>} : (!gk, !x) -> !wk
  %gx = tpsp.einsum %gk, %wk {tpsp.origin = #tpsp.origin<backward>} : (!gk, !wk) -> !x
  return %gwk, %gx : !wk, !x
}

// The sum's other part is whole.
// CHECK-LABEL: @whole_part
func.func @whole_part(%go: !go, %p: !p, %x: !x, %wk: !wk) -> !x {
  // CHECK: %[[G:.*]] = tpsp.einsum
  // CHECK: tpsp.all_reduce %[[G]]
  %gk = tpsp.einsum %go, %p {tpsp.origin = #tpsp.origin<backward>} : (!go, !p) -> !gk
  %a = tpsp.einsum %gk, %wk {tpsp.origin = #tpsp.origin<backward>} : (!gk, !wk) -> !x_
  %gx = tpsp.add %a, %x {tpsp.origin = #tpsp.origin<backward>} : (!x_, !x) -> !x
  return %gx : !x
}

// One use is not linear.
// CHECK-LABEL: @not_linear
func.func @not_linear(%go: !go, %p: !p, %gq: !gq, %wk: !wk, %wq: !wq) -> (!gk, !x) {
  // CHECK: %[[G:.*]] = tpsp.einsum
  // CHECK: tpsp.all_reduce %[[G]]
  %gk = tpsp.einsum %go, %p {tpsp.origin = #tpsp.origin<backward>} : (!go, !p) -> !gk
  %e = tpsp.exp %gk {tpsp.origin = #tpsp.origin<backward>} : !gk
  %a = tpsp.einsum %gk, %wk {tpsp.origin = #tpsp.origin<backward>} : (!gk, !wk) -> !x_
  // CHECK: %[[B:.*]] = tpsp.einsum {{.*}} #tpsp.idx<t, d | sum@rep>>
  // CHECK: tpsp.all_reduce %[[B]]
  %b = tpsp.einsum %gq, %wq {tpsp.origin = #tpsp.origin<backward>} : (!gq, !wq) -> !x_
  %gx = tpsp.add %a, %b {tpsp.origin = #tpsp.origin<backward>} : (!x_, !x_) -> !x
  return %e, %gx : !gk, !x
}

// A placement written in the forward pass is kept.
// CHECK-LABEL: @forward
func.func @forward(%go: !go, %p: !p, %gq: !gq, %wk: !wk, %wq: !wq) -> !x {
  // CHECK: %[[G:.*]] = tpsp.einsum
  // CHECK: tpsp.all_reduce %[[G]]
  %gk = tpsp.einsum %go, %p : (!go, !p) -> !gk
  %a = tpsp.einsum %gk, %wk : (!gk, !wk) -> !x_
  // CHECK: %[[B:.*]] = tpsp.einsum {{.*}} #tpsp.idx<t, d | sum@rep>>
  // CHECK: tpsp.all_reduce %[[B]]
  %b = tpsp.einsum %gq, %wq : (!gq, !wq) -> !x_
  %gx = tpsp.add %a, %b : (!x_, !x_) -> !x
  return %gx : !x
}

// A sum that may be taken before or after costs the same number of collectives.
// It is taken where its tensor is smaller, however many rows there are.
// CHECK-LABEL: @smaller
func.func @smaller(%few: tensor<8x16xf32, #tpsp.idx<t, k | sum@rep>>, %wk: !wk,
                   %many: tensor<800x16xf32, #tpsp.idx<t, k | sum@rep>>, %v: tensor<16x2xf32, #tpsp.idx<k, d>>)
    -> (!x, tensor<800x2xf32, #tpsp.idx<t, d>>) {
  // CHECK: %[[X:.*]] = tpsp.all_reduce %arg0
  // CHECK: tpsp.einsum %[[X]]
  %x = tpsp.einsum %few, %wk : (tensor<8x16xf32, #tpsp.idx<t, k | sum@rep>>, !wk) -> !x
  // CHECK: %[[Y:.*]] = tpsp.einsum
  // CHECK: tpsp.all_reduce %[[Y]]
  %y = tpsp.einsum %many, %v : (tensor<800x16xf32, #tpsp.idx<t, k | sum@rep>>, tensor<16x2xf32, #tpsp.idx<k, d>>) -> tensor<800x2xf32, #tpsp.idx<t, d>>
  return %x, %y : !x, tensor<800x2xf32, #tpsp.idx<t, d>>
}
