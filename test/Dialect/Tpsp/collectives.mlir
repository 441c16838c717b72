// RUN: tpsp-opt %s | tpsp-opt | FileCheck %s
// RUN: tpsp-opt %s --verify-roundtrip

tpsp.mesh @mesh <dp = 2, tp = 4>

!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!p = tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>
!both = tensor<16x16xf32, #tpsp.idx<e, d | sum@dp@tp>>
!e = tensor<16x16xf32, #tpsp.idx<e@tp, d>>
!d = tensor<16x16xf32, #tpsp.idx<e, d@tp>>
!e2 = tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>
!e2r = tensor<16x16xf32, #tpsp.idx<e@tp@dp, d>>

// CHECK-LABEL: @every_kind
func.func @every_kind(%p: !p, %both: !both) {
  // CHECK: tpsp.all_reduce %{{.*}} ["tp"] : (tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>) -> tensor<16x16xf32, #tpsp.idx<e, d>>
  %0 = tpsp.all_reduce %p ["tp"] : (!p) -> !w
  // CHECK: tpsp.reduce_scatter %{{.*}} ["tp"] : tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>> -> tensor<16x16xf32, #tpsp.idx<e@tp, d>>
  %1 = tpsp.reduce_scatter %p ["tp"] : !p -> !e
  // CHECK: tpsp.all_gather %{{.*}} ["tp"] {reason = "why", tensor = "w"} : tensor<16x16xf32, #tpsp.idx<e@tp, d>> -> tensor<16x16xf32, #tpsp.idx<e, d>>
  %2 = tpsp.all_gather %1 ["tp"] {reason = "why", tensor = "w"} : !e -> !w
  // CHECK: tpsp.all_to_all %{{.*}} ["tp"] : tensor<16x16xf32, #tpsp.idx<e@tp, d>> -> tensor<16x16xf32, #tpsp.idx<e, d@tp>>
  %3 = tpsp.all_to_all %1 ["tp"] : !e -> !d
  // CHECK: tpsp.slice %{{.*}} ["dp", "tp"] : tensor<16x16xf32, #tpsp.idx<e, d>> -> tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>
  %4 = tpsp.slice %2 ["dp", "tp"] : !w -> !e2
  // CHECK: tpsp.permute %{{.*}} ["tp", "dp"] : tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>> -> tensor<16x16xf32, #tpsp.idx<e@tp@dp, d>>
  %5 = tpsp.permute %4 ["tp", "dp"] : !e2 -> !e2r
  // CHECK: tpsp.permute %{{.*}} ["dp", "tp"] {by = 3 : i64} : tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>> -> tensor<16x16xf32, #tpsp.idx<e@dp@tp, d>>
  %shifted = tpsp.permute %4 ["dp", "tp"] {by = 3} : !e2 -> !e2
  // CHECK: tpsp.reduce_scatter %{{.*}} ["dp", "tp"]
  %6 = tpsp.reduce_scatter %both ["dp", "tp"] : !both -> !e2
  return
}

// CHECK-LABEL: @several_tensors_at_once
func.func @several_tensors_at_once(%p: !p, %g: tensor<16xf32, #tpsp.idx<d | sum@tp>>) {
  // CHECK: %{{.*}}:2 = tpsp.all_reduce %{{.*}}, %{{.*}} ["tp"] : (tensor<16x16xf32, #tpsp.idx<e, d | sum@tp>>, tensor<16xf32, #tpsp.idx<d | sum@tp>>) -> (tensor<16x16xf32, #tpsp.idx<e, d>>, tensor<16xf32, #tpsp.idx<d>>)
  %0:2 = tpsp.all_reduce %p, %g ["tp"] : (!p, tensor<16xf32, #tpsp.idx<d | sum@tp>>) -> (!w, tensor<16xf32, #tpsp.idx<d>>)
  return
}

// On local shapes a gather grows the extent.
// CHECK-LABEL: @local_shapes
func.func @local_shapes(%x: tensor<4x16xf32, #tpsp.idx<e@tp, d, local>>) {
  // CHECK: tpsp.all_gather
  %0 = tpsp.all_gather %x ["tp"] : tensor<4x16xf32, #tpsp.idx<e@tp, d, local>> -> tensor<16x16xf32, #tpsp.idx<e, d, local>>
  return
}
