// Two mesh axes: batches over one, weights and hidden indices over the other.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: tpsp-run %s --mesh dp=1 --grad --verify --quiet
// RUN: tpsp-run %s --mesh tp=1 --grad --verify --quiet
// RUN: tpsp-run %s --mesh dp=3,tp=4 --grad --verify --quiet
// RUN: tpsp-run %s --mesh dp=6,tp=1 --dtype bf16 --grad --verify --quiet

// CHECK: forward all_gather tp s
// CHECK: forward reduce_scatter tp s
// The gain's gradient is a sum over both axes, the weights' over the batch.
// CHECK: backward all_reduce dp {{.*}} g[w1], g[w0]
// CHECK: backward all_reduce dp,tp {{.*}} g[g]

tpsp.mesh @mesh <dp = 2 : data, tp = 2 : model>

!x  = tensor<6x8x16xf32, #tpsp.idx<b@dp, s@tp, d>>
!x_ = tensor<6x8x16xf32, #tpsp.idx<b, s, d, ?>>
!y  = tensor<6x8x12xf32, #tpsp.idx<b, s, e, ?>>
!g  = tensor<16xf32, #tpsp.idx<d>>
!w0 = tensor<12x16xf32, #tpsp.idx<e@tp, d>>
!w1 = tensor<16x12xf32, #tpsp.idx<d, e@tp>>
func.func @f(%x: !x, %g: !g {tpsp.param = "g"}, %w0: !w0 {tpsp.param = "w0"},
             %w1: !w1 {tpsp.param = "w1"}) -> !x {
  %n = tpsp.rms_norm %x, %g : (!x, !g) -> !x_
  %y = tpsp.einsum %w0, %n : (!w0, !x_) -> !y
  %v = tpsp.gelu %y : !y
  %z = tpsp.einsum %w1, %v : (!w1, !y) -> !x_
  %r = tpsp.add %x, %z : (!x, !x_) -> !x
  return %r : !x
}
