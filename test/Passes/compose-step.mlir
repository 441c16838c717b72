// The gradient's function ends with the update, whose own function is removed.
// Results are the loss, the new parameter and the new state, each with the
// number of the argument that it replaces.
// RUN: tpsp-opt %s --tpsp-build-update="optimizer=sgd grad=true" --tpsp-propagate --tpsp-differentiate --tpsp-compose-step | FileCheck %s --implicit-check-not=f_update

tpsp.mesh @mesh <dp = 2>

!w = tensor<4x6xf32, #tpsp.idx<d, e>>
!x = tensor<8x4xf32, #tpsp.idx<b@dp, d>>
!y = tensor<8x6xf32, #tpsp.idx<b@dp, e>>
!l = tensor<f32, #tpsp.idx<>>

// CHECK-LABEL: func.func @f_grad(
// CHECK-SAME: -> (tensor<f32, #tpsp.idx<>>, tensor<4x6xf32, #tpsp.idx<d, e>> {tpsp.name = "w", tpsp.updates = 1 : i64}, tensor<4x6xf32, #tpsp.idx<d, e>> {tpsp.name = "momentum[w]", tpsp.updates = 2 : i64})
func.func @f(%x: !x, %w: !w {tpsp.param = "w"}) -> !l {
  // CHECK: %[[LOSS:.*]] = tpsp.einsum {{.*}} -> tensor<f32, #tpsp.idx<>>
  // CHECK: %[[G:.*]] = tpsp.einsum {{.*}}tpsp.gradients = array<i64: 1>
  // CHECK: %[[M:.*]] = tpsp.scale {{.*}}factor = 9.000000e-01 : f64{{.*}}tpsp.origin = #tpsp.origin<update>
  // CHECK: %[[NEW:.*]] = tpsp.add %[[M]], %[[G]] {tpsp.origin = #tpsp.origin<update>}
  // CHECK: %[[STEP:.*]] = tpsp.mul %[[NEW]]
  // CHECK: %[[W:.*]] = tpsp.sub {{.*}}, %[[STEP]] {tpsp.origin = #tpsp.origin<update>}
  // CHECK: return %[[LOSS]], %[[W]], %[[NEW]]
  %y = tpsp.einsum %x, %w : (!x, !w) -> !y
  %l = tpsp.einsum %y, %y : (!y, !y) -> !l
  return %l : !l
}
