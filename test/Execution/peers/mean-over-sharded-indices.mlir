// pytorch/torchtitan#1132: are gradients under context parallelism summed or
// averaged? (And every averaging flag of DDP and FSDP, which assumes that the
// loss is a mean of equal parts.)
//
// Here a mean divides by the global extents, once, in the program: the sum over
// batch and sequence is one all-reduce over both axes, and so is the weight's
// gradient, without a factor of the mesh anywhere.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: tpsp-run %s --mesh dp=4,cp=1 --grad --verify --quiet
// RUN: tpsp-run %s --mesh dp=1,cp=4 --grad --verify --quiet
// RUN: tpsp-run %s --mesh dp=2,cp=4 --dtype bf16 --grad --verify --quiet

// CHECK: phase kind axes
// CHECK-NEXT: forward all_reduce dp,cp 6 B
// CHECK-NEXT: backward all_reduce dp,cp 1.7 KiB g[w]
// CHECK-EMPTY:
// CHECK: all within tolerance

tpsp.mesh @mesh <dp = 2 : data, cp = 2 : data>

!x = tensor<4x16x12xf32, #tpsp.idx<b@dp, s@cp, d>>
!w = tensor<24x12xf32, #tpsp.idx<e, d>>
!y = tensor<4x16x24xf32, #tpsp.idx<b, s, e, ?>>
!l = tensor<f32, #tpsp.idx<>>
func.func @mean(%x: !x, %w: !w {tpsp.param = "w"}) -> !l {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !y
  %v = tpsp.gelu %y : !y
  %l = tpsp.mean %v : !y -> !l
  return %l : !l
}
