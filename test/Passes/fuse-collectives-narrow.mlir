// Gathers that move after a conversion, and gathers that stay before it.
// RUN: tpsp-opt %s --tpsp-fuse-collectives --remarks-filter='tpsp-fuse.*' -o /dev/null 2>&1 | FileCheck %s

tpsp.mesh @mesh <tp = 4>

!w = tensor<8x16xf32, #tpsp.idx<d, e>>
!ws = tensor<8x16xf32, #tpsp.idx<d@tp, e>>
!wb = tensor<8x16xbf16, #tpsp.idx<d, e>>

// CHECK: [[@LINE+2]]:8: remark: [Passed] narrow-gather | Category:tpsp-fuse-collectives | Reason="is gathered behind tpsp.convert, in fewer bytes", bytes=256, bytes_before=512
func.func @narrowed(%w: !ws) -> !wb {
  %0 = tpsp.all_gather %w ["tp"] : !ws -> !w
  %1 = tpsp.convert %0 : !w -> !wb
  return %1 : !wb
}

// CHECK: [[@LINE+2]]:8: remark: [Missed] narrow-gather | Category:tpsp-fuse-collectives | Reason="is gathered in front of tpsp.convert, which has fewer bytes, because others use it, too"
func.func @wanted_wide(%w: !ws) -> (!w, !wb) {
  %0 = tpsp.all_gather %w ["tp"] : !ws -> !w
  %1 = tpsp.convert %0 : !w -> !wb
  return %0, %1 : !w, !wb
}

!i = tensor<4xi32, #tpsp.idx<n>>
!is = tensor<4xi32, #tpsp.idx<n@tp>>
!g = tensor<4xf32, #tpsp.idx<n>>
!gs = tensor<4xf32, #tpsp.idx<n@tp>>

// Two gathers move after the operation on both: four rows of one column.
// CHECK: [[@LINE+2]]:8: remark: [Passed] narrow-gather | Category:tpsp-fuse-collectives | Reason="is gathered behind tpsp.one_hot_einsum, in fewer bytes", bytes=16, bytes_before=16
func.func @one_column(%is: !is, %gs: !gs) -> tensor<4x1xf32, #tpsp.idx<n, v>> {
  %0 = tpsp.all_gather %is ["tp"] : !is -> !i
  %1 = tpsp.all_gather %gs ["tp"] : !gs -> !g
  %2 = tpsp.one_hot_einsum %0, %1 {indices = ["v"]} : (!i, !g) -> tensor<4x1xf32, #tpsp.idx<n, v>>
  return %2 : tensor<4x1xf32, #tpsp.idx<n, v>>
}

// They stay if the axis divides the columns: it cannot divide rows, too.
// CHECK-NOT: remark
func.func @axis_is_taken(%is: !is, %gs: !gs) -> tensor<4x4xf32, #tpsp.idx<n, v@tp>> {
  %0 = tpsp.all_gather %is ["tp"] : !is -> !i
  %1 = tpsp.all_gather %gs ["tp"] : !gs -> !g
  %2 = tpsp.one_hot_einsum %0, %1 {indices = ["v"]} : (!i, !g) -> tensor<4x4xf32, #tpsp.idx<n, v@tp>>
  return %2 : tensor<4x4xf32, #tpsp.idx<n, v@tp>>
}
