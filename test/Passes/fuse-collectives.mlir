// RUN: tpsp-opt %s --tpsp-fuse-collectives | FileCheck %s --check-prefixes=CHECK,AGAIN
// RUN: tpsp-opt %s --tpsp-fuse-collectives=keep-gathered | FileCheck %s --check-prefixes=CHECK,KEPT

tpsp.mesh @mesh <dp = 2, tp = 4>

!x = tensor<8x16xf32, #tpsp.idx<s, d>>
!xs = tensor<8x16xf32, #tpsp.idx<s@tp, d>>
!xd = tensor<8x16xf32, #tpsp.idx<s, d@tp>>
!p = tensor<8x16xf32, #tpsp.idx<s, d | sum@tp>>

// CHECK-LABEL: @all_reduce_then_slice
// CHECK-SAME: %[[P:[a-z0-9]+]]
func.func @all_reduce_then_slice(%p: !p) -> !xs {
  // CHECK-NEXT: %[[R:.*]] = tpsp.reduce_scatter %[[P]] ["tp"] {reason = "first", tensor = "p"}
  // CHECK-NEXT: return %[[R]]
  %0 = tpsp.all_reduce %p ["tp"] {reason = "first", tensor = "p"} : (!p) -> !x
  %1 = tpsp.slice %0 ["tp"] {reason = "second", tensor = "p"} : !x -> !xs
  return %1 : !xs
}

// CHECK-LABEL: @gather_then_slice_elsewhere
func.func @gather_then_slice_elsewhere(%x: !xs) -> !xd {
  // CHECK-NEXT: all_to_all {{.*}} ["tp"]
  // CHECK-NEXT: return
  %0 = tpsp.all_gather %x ["tp"] {reason = "r", tensor = "x"} : !xs -> !x
  %1 = tpsp.slice %0 ["tp"] {reason = "r", tensor = "x"} : !x -> !xd
  return %1 : !xd
}

// CHECK-LABEL: @per_axis_reductions
func.func @per_axis_reductions(%p: tensor<8x16xf32, #tpsp.idx<s, d | sum@dp@tp>>) -> !x {
  // CHECK-NEXT: all_reduce %{{.*}} ["dp", "tp"]
  // CHECK-NEXT: return
  %0 = tpsp.all_reduce %p ["tp"] {reason = "r", tensor = "p"} : (tensor<8x16xf32, #tpsp.idx<s, d | sum@dp@tp>>) -> tensor<8x16xf32, #tpsp.idx<s, d | sum@dp>>
  %1 = tpsp.all_reduce %0 ["dp"] {reason = "r", tensor = "p"} : (tensor<8x16xf32, #tpsp.idx<s, d | sum@dp>>) -> !x
  return %1 : !x
}

// CHECK-LABEL: @one_gather_for_several_users
func.func @one_gather_for_several_users(%x: !xs) -> (!x, !x) {
  // CHECK-NEXT: %[[G:.*]] = tpsp.all_gather
  // CHECK-NEXT: exp %[[G]]
  // CHECK-NEXT: log %[[G]]
  // CHECK-NEXT: return
  %0 = tpsp.all_gather %x ["tp"] {reason = "r", tensor = "x"} : !xs -> !x
  %1 = tpsp.exp %0 : !x
  %2 = tpsp.all_gather %x ["tp"] {reason = "other", tensor = "x"} : !xs -> !x
  %3 = tpsp.log %2 : !x
  return %1, %3 : !x, !x
}

// The forward and the backward pass share a gather only if they are told to:
// that is a question of memory. The ledger says so.
// CHECK-LABEL: @not_across_passes
func.func @not_across_passes(%x: !xs) -> (!x, !x, !x) {
  // AGAIN-NEXT: %[[F:.*]] = tpsp.all_gather {{.*}} {reason = "r", tensor = "x"}
  // AGAIN-NEXT: %[[B:.*]] = tpsp.all_gather {{.*}} {reason = "r", tensor = "x", tpsp.origin = #tpsp.origin<backward>}
  // AGAIN-NEXT: return %[[F]], %[[B]], %[[B]]
  // KEPT-NEXT: %[[F:.*]] = tpsp.all_gather {{.*}} {reason = "r; kept for the backward pass", tensor = "x"}
  // KEPT-NEXT: return %[[F]], %[[F]], %[[F]]
  %0 = tpsp.all_gather %x ["tp"] {reason = "r", tensor = "x"} : !xs -> !x
  %1 = tpsp.all_gather %x ["tp"] {reason = "r", tensor = "x", tpsp.origin = #tpsp.origin<backward>} : !xs -> !x
  %2 = tpsp.all_gather %x ["tp"] {reason = "r", tensor = "x", tpsp.origin = #tpsp.origin<backward>} : !xs -> !x
  return %0, %1, %2 : !x, !x, !x
}

// Movements that do not gather stay apart: only larger tensors are kept.
// CHECK-LABEL: @not_other_kinds_across_passes
func.func @not_other_kinds_across_passes(%x: !xs, %p: !p) -> (!xd, !xd, !xs, !xs) {
  // CHECK-COUNT-2: all_to_all
  // CHECK-COUNT-2: reduce_scatter
  %0 = tpsp.all_to_all %x ["tp"] : !xs -> !xd
  %1 = tpsp.all_to_all %x ["tp"] {tpsp.origin = #tpsp.origin<backward>} : !xs -> !xd
  %2 = tpsp.reduce_scatter %p ["tp"] : !p -> !xs
  %3 = tpsp.reduce_scatter %p ["tp"] {tpsp.origin = #tpsp.origin<backward>} : !p -> !xs
  return %0, %1, %2, %3 : !xd, !xd, !xs, !xs
}

// A gather that only the backward pass needs is not one of the forward pass.
// CHECK-LABEL: @not_of_the_forward_pass
func.func @not_of_the_forward_pass(%x: !xs) -> (!x, !x) {
  // CHECK-NEXT: %[[B:.*]] = tpsp.all_gather {{.*}} {reason = "r", tensor = "x", tpsp.origin = #tpsp.origin<backward>}
  // CHECK-NEXT: return %[[B]], %[[B]]
  %0 = tpsp.all_gather %x ["tp"] {reason = "r", tensor = "x", tpsp.origin = #tpsp.origin<backward>} : !xs -> !x
  %1 = tpsp.all_gather %x ["tp"] {reason = "r", tensor = "x", tpsp.origin = #tpsp.origin<backward>} : !xs -> !x
  return %0, %1 : !x, !x
}

// Other movements of the same tensor stay apart.
// CHECK-LABEL: @not_other_movements
func.func @not_other_movements(%p: !p) -> (!xs, !xd) {
  // CHECK-COUNT-2: reduce_scatter
  %0 = tpsp.reduce_scatter %p ["tp"] {reason = "r", tensor = "p"} : !p -> !xs
  %1 = tpsp.reduce_scatter %p ["tp"] {reason = "r", tensor = "p"} : !p -> !xd
  return %0, %1 : !xs, !xd
}

// The whole tensor is used too: a reduce-scatter would be one more.
// CHECK-LABEL: @not_if_used_between
func.func @not_if_used_between(%p: !p) -> (!x, !xs) {
  // CHECK-NEXT: all_reduce
  // CHECK-NEXT: slice
  // CHECK-NEXT: return
  %0 = tpsp.all_reduce %p ["tp"] {reason = "r", tensor = "p"} : (!p) -> !x
  %1 = tpsp.slice %0 ["tp"] {reason = "r", tensor = "p"} : !x -> !xs
  return %0, %1 : !x, !xs
}

// Already the direct way: left alone.
// CHECK-LABEL: @not_scatter_then_reduce
func.func @not_scatter_then_reduce(%p: tensor<8x16xf32, #tpsp.idx<s, d | sum@dp@tp>>) -> !xs {
  // CHECK-NEXT: reduce_scatter %{{.*}} ["tp"]
  // CHECK-NEXT: all_reduce %{{.*}} ["dp"]
  // CHECK-NEXT: return
  %0 = tpsp.reduce_scatter %p ["tp"] {reason = "r", tensor = "p"} : tensor<8x16xf32, #tpsp.idx<s, d | sum@dp@tp>> -> tensor<8x16xf32, #tpsp.idx<s@tp, d | sum@dp>>
  %1 = tpsp.all_reduce %0 ["dp"] {reason = "r", tensor = "p"} : (tensor<8x16xf32, #tpsp.idx<s@tp, d | sum@dp>>) -> !xs
  return %1 : !xs
}

!w = tensor<8x16xf32, #tpsp.idx<d, e>>
!ws = tensor<8x16xf32, #tpsp.idx<d@tp, e>>
!wb = tensor<8x16xbf16, #tpsp.idx<d, e>>

// A converted tensor is gathered after the conversion, in half the bytes.
// CHECK-LABEL: @gather_then_convert
// CHECK-SAME: %[[W:[a-z0-9]+]]
func.func @gather_then_convert(%w: !ws) -> !wb {
  // CHECK-NEXT: %[[B:.*]] = tpsp.convert %[[W]] : tensor<8x16xf32, #tpsp.idx<d@tp, e>> -> tensor<8x16xbf16, #tpsp.idx<d@tp, e>>
  // CHECK-NEXT: %[[G:.*]] = tpsp.all_gather %[[B]] ["tp"] {reason = "r", tensor = "w"} : tensor<8x16xbf16, #tpsp.idx<d@tp, e>> -> tensor<8x16xbf16, #tpsp.idx<d, e>>
  // CHECK-NEXT: return %[[G]]
  %0 = tpsp.all_gather %w ["tp"] {reason = "r", tensor = "w"} : !ws -> !w
  %1 = tpsp.convert %0 : !w -> !wb
  return %1 : !wb
}

// The scale before the conversion moves along. The scale after it does not
// shrink the tensor and stays.
// CHECK-LABEL: @gather_scale_convert_scale
func.func @gather_scale_convert_scale(%w: !ws) -> !wb {
  // CHECK-NEXT: %[[S:.*]] = tpsp.scale %{{.*}} {factor = 2.0
  // CHECK-NEXT: %[[B:.*]] = tpsp.convert %[[S]]
  // CHECK-NEXT: %[[G:.*]] = tpsp.all_gather %[[B]]
  // CHECK-NEXT: tpsp.scale %[[G]]
  // CHECK-NEXT: return
  %0 = tpsp.all_gather %w ["tp"] {reason = "r", tensor = "w"} : !ws -> !w
  %1 = tpsp.scale %0 {factor = 2.0 : f64} : !w
  %2 = tpsp.convert %1 : !w -> !wb
  %3 = tpsp.scale %2 {factor = 3.0 : f64} : !wb
  return %3 : !wb
}

!h = tensor<8xf32, #tpsp.idx<d>>
!hs = tensor<8xf32, #tpsp.idx<d@tp>>
!k = tensor<16xf32, #tpsp.idx<e>>

// Two gathers become one; an operand without the index needs none.
// CHECK-LABEL: @gathers_of_a_product
func.func @gathers_of_a_product(%w: !ws, %h: !hs, %k: !k) -> !w {
  // CHECK-NEXT: %[[P:.*]] = tpsp.mul %{{.*}}, %{{.*}} : ({{.*}}d@tp, e>>, {{.*}}d@tp>>) -> {{.*}}d@tp, e>>
  // CHECK-NEXT: %[[G:.*]] = tpsp.all_gather %[[P]]
  // CHECK-NEXT: tpsp.mul %[[G]], %{{.*}}
  // CHECK-NEXT: return
  %0 = tpsp.all_gather %w ["tp"] {reason = "r", tensor = "w"} : !ws -> !w
  %1 = tpsp.all_gather %h ["tp"] {reason = "r", tensor = "h"} : !hs -> !h
  %2 = tpsp.mul %0, %1 : (!w, !h) -> !w
  %3 = tpsp.mul %2, %k : (!w, !k) -> !w
  return %3 : !w
}

// Negative twins: the gathered tensor has other uses; the conversion makes it
// larger; the other factor is whole; the passes differ.
// CHECK-LABEL: @gather_of_several_uses
func.func @gather_of_several_uses(%w: !ws) -> (!w, !wb) {
  // CHECK-NEXT: %[[G:.*]] = tpsp.all_gather
  // CHECK-NEXT: convert %[[G]]
  %0 = tpsp.all_gather %w ["tp"] {reason = "r", tensor = "w"} : !ws -> !w
  %1 = tpsp.convert %0 : !w -> !wb
  return %0, %1 : !w, !wb
}

// CHECK-LABEL: @gather_then_widen
func.func @gather_then_widen(%w: tensor<8x16xbf16, #tpsp.idx<d@tp, e>>) -> !w {
  // CHECK-NEXT: %[[G:.*]] = tpsp.all_gather
  // CHECK-NEXT: convert %[[G]]
  %0 = tpsp.all_gather %w ["tp"] {reason = "r", tensor = "w"} : tensor<8x16xbf16, #tpsp.idx<d@tp, e>> -> !wb
  %1 = tpsp.convert %0 : !wb -> !w
  return %1 : !w
}

// CHECK-LABEL: @gather_times_whole
func.func @gather_times_whole(%w: !ws, %h: !h) -> !wb {
  // CHECK-NEXT: %[[G:.*]] = tpsp.all_gather
  // CHECK-NEXT: mul %[[G]]
  %0 = tpsp.all_gather %w ["tp"] {reason = "r", tensor = "w"} : !ws -> !w
  %1 = tpsp.mul %0, %h : (!w, !h) -> !w
  %2 = tpsp.convert %1 : !w -> !wb
  return %2 : !wb
}

// CHECK-LABEL: @gather_of_another_pass
func.func @gather_of_another_pass(%w: !ws) -> !wb {
  // CHECK-NEXT: %[[G:.*]] = tpsp.all_gather
  // CHECK-NEXT: convert %[[G]]
  %0 = tpsp.all_gather %w ["tp"] {reason = "r", tensor = "w"} : !ws -> !w
  %1 = tpsp.convert %0 {tpsp.origin = #tpsp.origin<backward>} : !w -> !wb
  return %1 : !wb
}
