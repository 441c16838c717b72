// RUN: not tpsp-opt %s --tpsp-differentiate=function=loss 2>&1 | FileCheck %s

// CHECK: error: option 'function' of tpsp-differentiate: no function named 'loss' to differentiate
func.func @model(%x: tensor<8xf32, #tpsp.idx<b>>) -> tensor<8xf32, #tpsp.idx<b>> {
  return %x : tensor<8xf32, #tpsp.idx<b>>
}
