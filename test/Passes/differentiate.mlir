// RUN: tpsp-opt %s --tpsp-differentiate | FileCheck %s
// RUN: tpsp-opt %s --tpsp-differentiate=function=matmul | FileCheck %s --check-prefix=ONLY

// ONLY: @matmul_grad
// ONLY-NOT: func.func @{{.*}}_grad

!x = tensor<8x32xf32, #tpsp.idx<b@dp, d>>
!w = tensor<64x32xf32, #tpsp.idx<e, d>>
!y = tensor<8x64xf32, #tpsp.idx<b@dp, e>>

tpsp.mesh @mesh <dp = 2>

// The primal stays; the gradients have the placements of their tensors.
// CHECK-LABEL: func.func @matmul(
// CHECK-NOT: tpsp.origin = #tpsp.origin<backward>
// CHECK-LABEL: func.func @matmul_grad(
// CHECK-SAME: %[[W:[a-z0-9]+]]: {{.*}} {tpsp.param}, %[[X:[a-z0-9]+]]: {{.*}} {tpsp.name = "x"}, %[[G:[a-z0-9]+]]: tensor<8x64xf32, #tpsp.idx<b@dp, e>> {tpsp.cotangent_of = 0 : i64, tpsp.name = "g[result0]"})
// CHECK-SAME: -> (tensor<8x64xf32, #tpsp.idx<b@dp, e>>, tensor<64x32xf32, #tpsp.idx<e, d>> {tpsp.gradient_of = 0 : i64, {{[^}]*}}}, tensor<8x32xf32, #tpsp.idx<b@dp, d>> {tpsp.gradient_of = 1 : i64, tpsp.name = "g[x]"})
func.func @matmul(%w: !w {tpsp.param}, %x: !x {tpsp.name = "x"}) -> !y {
  // CHECK-NEXT: %[[Y:.*]] = tpsp.einsum %[[W]], %[[X]] :
  // CHECK-DAG: %[[DW:.*]] = tpsp.einsum %[[G]], %[[X]] {tpsp.origin = #tpsp.origin<backward>, tpsp.weight_gradient} : {{.*}} -> tensor<64x32xf32, #tpsp.idx<e, d>>
  // CHECK-DAG: %[[DX:.*]] = tpsp.einsum %[[G]], %[[W]] {tpsp.origin = #tpsp.origin<backward>} : {{.*}} -> tensor<8x32xf32, #tpsp.idx<b@dp, d>>
  // CHECK: return %[[Y]], %[[DW]], %[[DX]]
  %y = tpsp.einsum %w, %x : (!w, !x) -> !y
  return %y : !y
}

// Contributions to one gradient are added; their placement is only proposed.
// CHECK-LABEL: func.func @residual_grad(
func.func @residual(%x: !x) -> !x {
  // CHECK: %[[S:.*]] = tpsp.slope %{{.*}} {of = "gelu", tpsp.origin = #tpsp.origin<backward>} : {{.*}}, ?>>
  // CHECK: %[[M:.*]] = tpsp.mul %[[G:.*]], %[[S]] {tpsp.origin = #tpsp.origin<backward>, tpsp.proposed} : {{.*}} -> tensor<8x32xf32, #tpsp.idx<b@dp, d>>
  // CHECK: %[[D:.*]] = tpsp.add %[[G]], %[[M]] {tpsp.origin = #tpsp.origin<backward>} : tensor<8x32xf32, #tpsp.idx<b@dp, d>>
  // CHECK: return %{{.*}}, %[[D]]
  %y = tpsp.gelu %x : !x
  %z = tpsp.add %x, %y : !x
  return %z : !x
}

// The gradient of a broadcast operand is a sum.
// CHECK-LABEL: func.func @bias_grad(
func.func @bias(%x: !x, %b: tensor<32xf32, #tpsp.idx<d>>) -> !x {
  // CHECK: reduce %{{.*}} {tpsp.origin = #tpsp.origin<backward>} : tensor<8x32xf32, #tpsp.idx<b@dp, d>> -> tensor<32xf32, #tpsp.idx<d>>
  %y = tpsp.add %x, %b : (!x, tensor<32xf32, #tpsp.idx<d>>) -> !x
  return %y : !x
}

// The gradient of a partial result is whole: every summand has the sum's.
// CHECK-LABEL: func.func @partial_grad(
// CHECK-SAME: tensor<32xf32, #tpsp.idx<d>> {tpsp.cotangent_of = 0 : i64, tpsp.name = "g[result0]"}
func.func @partial(%x: !x) -> tensor<32xf32, #tpsp.idx<d | sum@dp>> {
  // CHECK: broadcast
  %y = tpsp.reduce %x : !x -> tensor<32xf32, #tpsp.idx<d | sum@dp>>
  return %y : tensor<32xf32, #tpsp.idx<d | sum@dp>>
}

// An argument that nothing depends on has the gradient zero; integers none.
// CHECK-LABEL: func.func @unused_grad(
// CHECK-SAME: -> (tensor<8x32xf32, #tpsp.idx<b@dp, d>>, tensor<8x32xf32, #tpsp.idx<b@dp, d>> {tpsp.gradient_of = 0 : i64, {{[^}]*}}}, tensor<64x32xf32, #tpsp.idx<e, d>> {tpsp.gradient_of = 1 : i64, {{[^}]*}}})
func.func @unused(%x: !x {tpsp.name = "x"}, %w: !w, %ids: tensor<8xi32, #tpsp.idx<b@dp>>) -> !x {
  // CHECK: scale %{{.*}} {factor = 0.000000e+00 : f64, tpsp.origin = #tpsp.origin<backward>} : tensor<64x32xf32
  %y = tpsp.neg %x : !x
  return %y : !x
}

// A maximum off the path does no harm.
// CHECK-LABEL: func.func @off_the_path_grad(
func.func @off_the_path(%x: !x) -> !x {
  // CHECK: kind = "max"
  // CHECK: return
  %m = tpsp.reduce %x {kind = "max"} : !x -> tensor<8xf32, #tpsp.idx<b@dp>>
  %y = tpsp.neg %x : !x
  return %y : !x
}

// A frozen argument has no gradient, and operations only for it are not made.
// CHECK-LABEL: func.func @frozen_grad(
// CHECK-SAME:  -> (tensor<8x64xf32, {{[^>]*}}>>, tensor<64x32xf32, {{[^>]*}}>> {tpsp.gradient_of = 0 : i64, tpsp.name = "g[w]"})
// CHECK:       tpsp.tanh
// CHECK:       tpsp.einsum
// CHECK:       tpsp.einsum {{.*}} {tpsp.origin = #tpsp.origin<backward>, tpsp.weight_gradient}
// CHECK-NOT:   tpsp.origin = #tpsp.origin<backward>
// CHECK:       return
func.func @frozen(%w: !w {tpsp.param = "w"}, %x: !x {tpsp.name = "x", tpsp.frozen}) -> !y {
  %t = tpsp.tanh %x : !x
  %y = tpsp.einsum %w, %t : (!w, !x) -> !y
  return %y : !y
}
