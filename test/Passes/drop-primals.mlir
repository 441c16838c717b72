// A function is removed if its gradient is there; one without a gradient stays.
// RUN: tpsp-opt %s --tpsp-propagate --tpsp-differentiate=function=f --tpsp-drop-primals | FileCheck %s

tpsp.mesh @mesh <dp = 2>

!x = tensor<8x4xf32, #tpsp.idx<b@dp, d>>

// CHECK-NOT: @f(
// CHECK: func.func @f_grad(
func.func @f(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}

// CHECK: func.func @alone(
func.func @alone(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}
