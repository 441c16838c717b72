// Where a gather goes behind a conversion, and where others keep it in front.
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
