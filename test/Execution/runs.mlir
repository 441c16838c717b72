// Tensors one after the other, parts of unequal length, padding, constants and
// positions, with gradients and any division. Tensors divided along the index
// are gathered, and scattered afterwards.
// REQUIRES: tpsp-run

// DEFINE: %{run} = tpsp-run %s --grad --verify --quiet
// RUN: %{run}
// RUN: %{run} --mesh cp=1,tp=1
// RUN: %{run} --mesh cp=3,tp=2 --threads 2
// RUN: %{run} --dtype bf16
// RUN: %{run} --dtype f16 --rematerialize full
// RUN: %{run} --mesh cp=3,tp=1 --micro-batches 2
// RUN: %{run} --overlap on --hardware h100-sxm
tpsp.mesh @mesh <cp = 3 : data, tp = 2 : model>
!x = tensor<2x6x4xf32, #tpsp.idx<b, s@cp, d@tp>>
!y = tensor<2x5x4xf32, #tpsp.idx<b, r, d>>
!z = tensor<2x1x4xf32, #tpsp.idx<b, o, d@tp>>
!all = tensor<2x12x4xf32, #tpsp.idx<b, a@cp, d@tp>>
!open = tensor<2x12x4xf32, #tpsp.idx<b, a, d, ?>>
!padded2 = tensor<2x9x4xf32, #tpsp.idx<b, n@cp, d@tp>>
!cut = tensor<2x7x4xf32, #tpsp.idx<b, c, d@tp>>
!ids = tensor<2x6xi32, #tpsp.idx<b, s@cp>>
!longer = tensor<2x8xi32, #tpsp.idx<b, i>>
!table = tensor<9x4xf32, #tpsp.idx<v, d@tp>>
!looked = tensor<2x8x4xf32, #tpsp.idx<b, i, d@tp>>
func.func @f(%x: !x, %y: !y, %z: !z {tpsp.param}, %ids: !ids {tpsp.below = 9}, %table: !table {tpsp.param})
    -> (!all, !cut, !padded2, !looked) {
  %all = tpsp.concat %y, %z, %x {index = "a"} : (!y, !z, !x) -> !open
  %ones = tpsp.constant {value = 0.5} : () -> !open
  %position = tpsp.iota {index = "a"} : () -> !open
  %shifted = tpsp.mul %all, %position : !open
  %sum = tpsp.add %shifted, %ones : !open -> !all
  // Across what was joined.
  %cut = tpsp.cut %sum {index = "a", from = 4} : !all -> !cut
  %square = tpsp.square %cut : !cut
  %padded = tpsp.pad %x {index = "n", before = 2} : !x -> !padded2
  %filled = tpsp.pad %x {index = "n", value = -1.5, before = 3} : !x -> !padded2
  %both = tpsp.mul %padded, %filled : !padded2
  %longer = tpsp.pad %ids {index = "i", before = 1} : !ids -> !longer
  %looked = tpsp.embedding %longer, %table {vocabulary = "v"} : (!longer, !table) -> !looked
  return %sum, %square, %both, %looked : !all, !cut, !padded2, !looked
}
