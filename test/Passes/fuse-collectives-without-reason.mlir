// RUN: tpsp-opt %s --tpsp-fuse-collectives | FileCheck %s
// FuseCollectives.cpp reads `reason` and `tensor`, which are optional, as if
// they were always there.

tpsp.mesh @mesh <tp = 4>

!x = tensor<8x16xf32, #tpsp.idx<s, d>>

// CHECK-LABEL: @without_a_reason
func.func @without_a_reason(%p: tensor<8x16xf32, #tpsp.idx<s, d | sum@tp>>) -> tensor<8x16xf32, #tpsp.idx<s@tp, d>> {
  // CHECK-NEXT: reduce_scatter
  // CHECK-NEXT: return
  %0 = tpsp.all_reduce %p ["tp"] : (tensor<8x16xf32, #tpsp.idx<s, d | sum@tp>>) -> !x
  %1 = tpsp.slice %0 ["tp"] : !x -> tensor<8x16xf32, #tpsp.idx<s@tp, d>>
  return %1 : tensor<8x16xf32, #tpsp.idx<s@tp, d>>
}
