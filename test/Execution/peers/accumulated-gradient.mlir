// openxla/xla#49143: moving an all-reduce out of a loop of accumulation
// miscompiled it. AI-Hypercomputer/maxtext#5099: it ran once for each micro-batch
// instead of once a step.
//
// Here two micro-batches use one weight. Their losses, and their contributions to
// its gradient, are partial alike, are added, and are reduced once.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: tpsp-run %s --mesh dp=2 --grad --verify --quiet
// RUN: tpsp-run %s --mesh dp=8 --dtype bf16 --grad --verify --quiet

// CHECK: phase kind axes
// CHECK-NEXT: forward all_reduce dp 6 B l
// CHECK-NEXT: backward all_reduce dp 1.7 KiB g[w]
// CHECK-EMPTY:
// CHECK: all within tolerance

tpsp.mesh @mesh <dp = 4 : data>

!x = tensor<8x12xf32, #tpsp.idx<b@dp, d>>
!w = tensor<24x12xf32, #tpsp.idx<e, d>>
!y = tensor<8x24xf32, #tpsp.idx<b@dp, e>>
!p = tensor<f32, #tpsp.idx<| sum@dp>>
!l = tensor<f32, #tpsp.idx<>>
func.func @two_micro_batches(%x0: !x, %x1: !x, %w: !w {tpsp.param = "w"}) -> !l {
  %y0 = tpsp.einsum %w, %x0 : (!w, !x) -> !y
  %v0 = tpsp.gelu %y0 : !y
  %l0 = tpsp.reduce %v0 : !y -> !p
  %y1 = tpsp.einsum %w, %x1 : (!w, !x) -> !y
  %v1 = tpsp.gelu %y1 : !y
  %l1 = tpsp.reduce %v1 : !y -> !p
  %l = tpsp.add %l0, %l1 : !p -> !l
  return %l : !l
}
