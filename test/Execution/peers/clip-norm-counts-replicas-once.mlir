// ROCm/TransformerEngine#715, NVIDIA-NeMo/RL#3788, mindspore-ai/hyper-parallel#526:
// the gradients' norm counts a replicated parameter once for every rank of the
// group that divides others; at tp=8 it was 1.5 times too large.
//
// Here a sum of squares is over the axes that divide its gradient; none divides a
// replicated one. Norm and clipped gradients are those of one rank.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --optimizer sgd --clip 0.1 --verify | FileCheck %s
// RUN: tpsp-run %s --grad --optimizer sgd --clip 0.1 --verify --quiet --mesh dp=1,tp=4
// RUN: tpsp-run %s --grad --optimizer adamw --optimizer-axes dp --clip 0.1 --verify --quiet --mesh dp=4,tp=2

// CHECK: update all_reduce tp 8 B
// CHECK: {{^}}norm
// CHECK: all within tolerance

tpsp.mesh @mesh <dp = 2 : data, tp = 2 : model>
!x = tensor<8x12xf32, #tpsp.idx<b@dp, d>>
!h = tensor<8x16xf32, #tpsp.idx<b, e, ?>>
!y = tensor<8x12xf32, #tpsp.idx<b, d, ?>>
!up = tensor<16x12xf32, #tpsp.idx<e@tp, d>>
!down = tensor<12x16xf32, #tpsp.idx<d, e@tp>>
!g = tensor<12xf32, #tpsp.idx<d>>
!s = tensor<f32, #tpsp.idx<>>
func.func @f(%x: !x {tpsp.name = "x"}, %gain: !g {tpsp.param = "gain"}, %bias: !g {tpsp.param = "bias"},
             %up: !up {tpsp.param = "up"}, %down: !down {tpsp.param = "down"}) -> !s {
  %n = tpsp.rms_norm %x, %gain : (!x, !g) -> !y
  %h = tpsp.einsum %up, %n : (!up, !y) -> !h
  %a = tpsp.silu %h : !h
  %y = tpsp.einsum %down, %a : (!down, !h) -> !y
  %z = tpsp.add %y, %bias : (!y, !g) -> !y
  %q = tpsp.mul %z, %z : (!y, !y) -> !y
  %loss = tpsp.mean %q : (!y) -> !s
  return %loss : !s
}
