// A result may be left to the compiler, like any value. The function's type
// then has its placement.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify --quiet
// RUN: tpsp-opt %s --tpsp-propagate | FileCheck %s

tpsp.mesh @mesh <tp = 2 : model>

!x = tensor<4x6xf32, #tpsp.idx<s@tp, d>>
!y = tensor<4x6xf32, #tpsp.idx<s, d, ?>>
// CHECK: func.func @f({{.*}}) -> (tensor<4x6xf32, #tpsp.idx<s@tp, d>>, tensor<f32, #tpsp.idx<>>)
func.func @f(%x: !x) -> (!y, tensor<f32, #tpsp.idx<?>>) {
  %y = tpsp.gelu %x : (!x) -> !y
  %z = tpsp.reduce %y {kind = "sum"} : (!y) -> tensor<f32, #tpsp.idx<?>>
  return %y, %z : !y, tensor<f32, #tpsp.idx<?>>
}
