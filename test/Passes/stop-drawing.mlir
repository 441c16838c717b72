// Dropout keeps every element; its seed stays.
// RUN: tpsp-opt %s --tpsp-stop-drawing | FileCheck %s

tpsp.mesh @mesh <tp = 2>

!x = tensor<4x6xf32, #tpsp.idx<s, d>>

// CHECK-LABEL: @drops
func.func @drops(%x: !x) -> !x {
  // CHECK: tpsp.dropout %{{.*}} {rate = 0.000000e+00 : f64, seed = 7 : i64}
  %y = tpsp.dropout %x {rate = 0.25, seed = 7} : !x
  return %y : !x
}
