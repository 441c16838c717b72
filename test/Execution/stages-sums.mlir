// A sum over micro-batches that a later stage needs whole: the forward pass of
// stage 0 is sent for the backward pass of stage 1. Both sides of this transfer
// are on one stream.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify --micro-batch-index c --micro-batches 1 --timeout 20 | FileCheck %s
// RUN: tpsp-run %s --grad --verify --micro-batch-index c --micro-batches 4 --stage-schedule 1f1b --timeout 20 | FileCheck %s
// RUN: tpsp-run %s --grad --verify --micro-batch-index c --micro-batches 8 --stage-schedule gpipe --timeout 20 | FileCheck %s
// CHECK: all within tolerance

tpsp.mesh @mesh <local_axis = 3 : data, pp = 3 : stage>
func.func @f(%x0: tensor<8x7x1xf32, #tpsp.idx<c, a, f | sum@local_axis>>, %x3: tensor<7xf32, #tpsp.idx<a>> {tpsp.param}) -> (tensor<7xf32, #tpsp.idx<a>>) {
  %v1 = tpsp.cut %x0 {index = "a", from = 2, tpsp.origin = #tpsp.origin<chunk = 0>} : (tensor<8x7x1xf32, #tpsp.idx<c, a, f | sum@local_axis>>) -> tensor<8x2x1xf32, #tpsp.idx<c, n0, f>>
  %v2 = tpsp.einsum %x0, %v1 {tpsp.origin = #tpsp.origin<chunk = 1>} : (tensor<8x7x1xf32, #tpsp.idx<c, a, f | sum@local_axis>>, tensor<8x2x1xf32, #tpsp.idx<c, n0, f>>) -> tensor<7xf32, #tpsp.idx<a>>
  %v4 = tpsp.rms_norm %v2, %x3 {eps = 0.0625 : f64, tpsp.origin = #tpsp.origin<chunk = 2>} : (tensor<7xf32, #tpsp.idx<a>>, tensor<7xf32, #tpsp.idx<a>>) -> tensor<7xf32, #tpsp.idx<a>>
  return %v4 : tensor<7xf32, #tpsp.idx<a>>
}
