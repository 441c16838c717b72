// pytorch/torchtitan#596, PaddlePaddle/Paddle#74080: every pipeline stage clipped
// by the norm of its own parameters, so that the total lacked the others'.
//
// Here the norm is over all trained parameters, for any placement: divided over
// one axis, over the other, over both or none, and in other precision.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --optimizer adamw --clip 0.05 --verify | FileCheck %s
// RUN: tpsp-run %s --grad --optimizer lion --optimizer-axes dp,tp --clip 0.05 --verify --quiet
// RUN: tpsp-run %s --grad --optimizer adamw --clip 0.05 --verify --quiet --mesh dp=4,tp=1 --steps 3

// One number for each set of axes.
// CHECK: update all_reduce dp,tp 12 B
// CHECK: update all_reduce tp 8 B
// CHECK: {{^}}norm
// CHECK: all within tolerance

tpsp.mesh @mesh <dp = 2 : data, tp = 2 : model>
!x = tensor<8x8xf32, #tpsp.idx<b@dp, d>>
!x_ = tensor<8x8xf32, #tpsp.idx<b, d, ?>>
!e_ = tensor<8x8xf32, #tpsp.idx<b, e, ?>>
!one = tensor<8x8xf32, #tpsp.idx<e@dp, d>>
!two = tensor<8x8xf32, #tpsp.idx<d, e@tp>>
!both = tensor<8x8xf32, #tpsp.idx<e@tp, d@dp>>
!none = tensor<8x8xf32, #tpsp.idx<d, e>>
!s = tensor<f32, #tpsp.idx<>>
func.func @f(%x: !x {tpsp.name = "x"}, %w0: !one {tpsp.param = "w0"}, %w1: !two {tpsp.param = "w1"},
             %w2: !both {tpsp.param = "w2"}, %w3: !none {tpsp.param = "w3"}) -> !s {
  %a = tpsp.einsum %w0, %x : (!one, !x) -> !e_
  %b = tpsp.einsum %w1, %a : (!two, !e_) -> !x_
  %c = tpsp.einsum %w2, %b : (!both, !x_) -> !e_
  %d = tpsp.einsum %w3, %c : (!none, !e_) -> !x_
  %q = tpsp.mul %d, %d : (!x_, !x_) -> !x_
  %loss = tpsp.mean %q : (!x_) -> !s
  return %loss : !s
}
