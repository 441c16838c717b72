// meta-pytorch/torchtune#2172, NVIDIA/Megatron-LM#673 and #906,
// laekov/fastmoe#106: gradients divided by the size of the world or of another
// group, not by the number over which the loss is a mean.
//
// Here the loss is a mean over global extents, divided once. The update is that
// of one rank on data, sequence and tensor axes, alone and together.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --optimizer sgd --verify --quiet
// RUN: tpsp-run %s --grad --optimizer sgd --verify --quiet --mesh dp=4,cp=1,tp=1
// RUN: tpsp-run %s --grad --optimizer sgd --verify --quiet --mesh dp=1,cp=4,tp=1
// RUN: tpsp-run %s --grad --optimizer sgd --verify --quiet --mesh dp=1,cp=1,tp=4
// RUN: tpsp-run %s --grad --optimizer sgd --verify --quiet --mesh dp=2,cp=1,tp=1 --micro-batches 2 --optimizer-axes dp --steps 2

tpsp.mesh @mesh <dp = 2 : data, cp = 2 : data, tp = 2 : model>
!ids = tensor<4x8xi32, #tpsp.idx<b@dp, s@cp>>
!t = tensor<16x8xf32, #tpsp.idx<v@tp, d>>
!g = tensor<8xf32, #tpsp.idx<d>>
!x = tensor<4x8x8xf32, #tpsp.idx<b@dp, s@cp, d>>
!x_ = tensor<4x8x8xf32, #tpsp.idx<b, s, d, ?>>
!l = tensor<4x8x16xf32, #tpsp.idx<b, s, v, ?>>
!c = tensor<4x8xf32, #tpsp.idx<b, s, ?>>
!s = tensor<f32, #tpsp.idx<>>
func.func @f(%ids: !ids {tpsp.name = "ids"}, %targets: !ids {tpsp.name = "targets"},
             %t: !t {tpsp.param = "t"}, %h: !t {tpsp.param = "h"}, %g: !g {tpsp.param = "g"}) -> !s {
  %x = tpsp.embedding %ids, %t {vocabulary = "v"} : (!ids, !t) -> !x
  %n = tpsp.rms_norm %x, %g : (!x, !g) -> !x_
  %l = tpsp.einsum %h, %n : (!t, !x_) -> !l
  %c = tpsp.cross_entropy %l, %targets {over = "v"} : (!l, !ids) -> !c
  %loss = tpsp.mean %c : (!c) -> !s
  return %loss : !s
}
