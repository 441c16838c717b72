// Inputs of floating-point numbers are frozen; parameters and integers are not.
// RUN: tpsp-opt %s --tpsp-freeze-inputs | FileCheck %s

!x = tensor<8xf32, #tpsp.idx<s>>
!i = tensor<8xi32, #tpsp.idx<s>>

// CHECK: func.func @f(%{{.+}}: tensor<8xf32, #tpsp.idx<s>> {tpsp.frozen, tpsp.name = "x"},
// CHECK-SAME: %{{.+}}: tensor<8xf32, #tpsp.idx<s>> {tpsp.param = "w"}, %{{.+}}: tensor<8xi32, #tpsp.idx<s>>)
func.func @f(%x: !x {tpsp.name = "x"}, %w: !x {tpsp.param = "w"}, %i: !i) -> !x {
  %y = tpsp.mul %x, %w : !x
  return %y : !x
}
