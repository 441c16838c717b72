// Two GPT layers with dropout (of the attention's weights and of both branches)
// under tensor and sequence parallelism. A mask depends on the seed and on the
// global position of an element, so that it is the unsharded program's on every
// mesh: no seeds to synchronise, none to keep apart, and no collective. A seed is
// written in the program: the layers are two functions, so that they differ.
//
//   tpsp-opt examples/sp-dropout.mlir --tpsp-explain
//   tpsp-run examples/sp-dropout.mlir --grad --verify
//   tpsp-run examples/sp-dropout.mlir --grad --verify --keep-masks

tpsp.mesh @mesh <tp = 4 : model>

!x     = tensor<2x128x256xf32, #tpsp.idx<b, s@tp, d>>  // between blocks
!x_    = tensor<2x128x256xf32, #tpsp.idx<b, s, d, ?>>
!head  = tensor<2x128x8x32xf32, #tpsp.idx<b, s, h, k, ?>>
!past  = tensor<2x128x8x32xf32, #tpsp.idx<b, t, h, k, ?>>
!mid   = tensor<2x128x1024xf32, #tpsp.idx<b, s, e, ?>>

!gain  = tensor<256xf32, #tpsp.idx<d>>
!wqkv  = tensor<8x32x256xf32, #tpsp.idx<h@tp, k, d>>
!bqkv  = tensor<8x32xf32, #tpsp.idx<h@tp, k>>
!wo    = tensor<256x8x32xf32, #tpsp.idx<d, h@tp, k>>
!w1    = tensor<1024x256xf32, #tpsp.idx<e@tp, d>>
!b1    = tensor<1024xf32, #tpsp.idx<e@tp>>
!w2    = tensor<256x1024xf32, #tpsp.idx<d, e@tp>>

func.func private @layer0(
    %x: !x, %ln1_gain: !gain, %ln1_bias: !gain,
    %wq: !wqkv, %bq: !bqkv, %wk: !wqkv, %bk: !bqkv, %wv: !wqkv, %bv: !bqkv,
    %wo: !wo, %bo: !gain, %ln2_gain: !gain, %ln2_bias: !gain,
    %w1: !w1, %b1: !b1, %w2: !w2, %b2: !gain) -> !x {
  // Attention.
  %xn = tpsp.layer_norm %x, %ln1_gain, %ln1_bias : (!x, !gain, !gain) -> !x_
  %q0 = tpsp.einsum %wq, %xn : (!wqkv, !x_) -> !head
  %q  = tpsp.add %q0, %bq : (!head, !bqkv) -> !head
  %k0 = tpsp.einsum %wk, %xn : (!wqkv, !x_) -> !head
  %k1 = tpsp.add %k0, %bk : (!head, !bqkv) -> !head
  %k  = tpsp.rename %k1 : !head -> !past
  %v0 = tpsp.einsum %wv, %xn : (!wqkv, !x_) -> !head
  %v1 = tpsp.add %v0, %bv : (!head, !bqkv) -> !head
  %v  = tpsp.rename %v1 : !head -> !past
  %o  = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
          scale = 0.17677669529663687, causal, dropout = 0.1, seed = 1} : (!head, !past, !past) -> !head
  %a0 = tpsp.einsum %wo, %o : (!wo, !head) -> !x_
  %a  = tpsp.add %a0, %bo : (!x_, !gain) -> !x_
  %ad = tpsp.dropout %a {rate = 0.1, seed = 2} : !x_
  %h  = tpsp.add %x, %ad : (!x, !x_) -> !x_

  // MLP.
  %hn = tpsp.layer_norm %h, %ln2_gain, %ln2_bias : (!x_, !gain, !gain) -> !x_
  %m0 = tpsp.einsum %w1, %hn : (!w1, !x_) -> !mid
  %m1 = tpsp.add %m0, %b1 : (!mid, !b1) -> !mid
  %m2 = tpsp.gelu %m1 : !mid
  %m3 = tpsp.einsum %w2, %m2 : (!w2, !mid) -> !x_
  %m  = tpsp.add %m3, %b2 : (!x_, !gain) -> !x_
  %md = tpsp.dropout %m {rate = 0.1, seed = 3} : !x_
  %z  = tpsp.add %h, %md : (!x_, !x_) -> !x
  return %z : !x
}

func.func private @layer1(
    %x: !x, %ln1_gain: !gain, %ln1_bias: !gain,
    %wq: !wqkv, %bq: !bqkv, %wk: !wqkv, %bk: !bqkv, %wv: !wqkv, %bv: !bqkv,
    %wo: !wo, %bo: !gain, %ln2_gain: !gain, %ln2_bias: !gain,
    %w1: !w1, %b1: !b1, %w2: !w2, %b2: !gain) -> !x {
  // Attention.
  %xn = tpsp.layer_norm %x, %ln1_gain, %ln1_bias : (!x, !gain, !gain) -> !x_
  %q0 = tpsp.einsum %wq, %xn : (!wqkv, !x_) -> !head
  %q  = tpsp.add %q0, %bq : (!head, !bqkv) -> !head
  %k0 = tpsp.einsum %wk, %xn : (!wqkv, !x_) -> !head
  %k1 = tpsp.add %k0, %bk : (!head, !bqkv) -> !head
  %k  = tpsp.rename %k1 : !head -> !past
  %v0 = tpsp.einsum %wv, %xn : (!wqkv, !x_) -> !head
  %v1 = tpsp.add %v0, %bv : (!head, !bqkv) -> !head
  %v  = tpsp.rename %v1 : !head -> !past
  %o  = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
          scale = 0.17677669529663687, causal, dropout = 0.1, seed = 4} : (!head, !past, !past) -> !head
  %a0 = tpsp.einsum %wo, %o : (!wo, !head) -> !x_
  %a  = tpsp.add %a0, %bo : (!x_, !gain) -> !x_
  %ad = tpsp.dropout %a {rate = 0.1, seed = 5} : !x_
  %h  = tpsp.add %x, %ad : (!x, !x_) -> !x_

  // MLP.
  %hn = tpsp.layer_norm %h, %ln2_gain, %ln2_bias : (!x_, !gain, !gain) -> !x_
  %m0 = tpsp.einsum %w1, %hn : (!w1, !x_) -> !mid
  %m1 = tpsp.add %m0, %b1 : (!mid, !b1) -> !mid
  %m2 = tpsp.gelu %m1 : !mid
  %m3 = tpsp.einsum %w2, %m2 : (!w2, !mid) -> !x_
  %m  = tpsp.add %m3, %b2 : (!x_, !gain) -> !x_
  %md = tpsp.dropout %m {rate = 0.1, seed = 6} : !x_
  %z  = tpsp.add %h, %md : (!x_, !x_) -> !x
  return %z : !x
}

func.func @model(
    %x: !x {tpsp.name = "x"},
    %ln1_gain_0: !gain {tpsp.param = "layer0.ln1.gain"}, %ln1_bias_0: !gain {tpsp.param = "layer0.ln1.bias"},
    %wq_0: !wqkv {tpsp.param = "layer0.wq"}, %bq_0: !bqkv {tpsp.param = "layer0.bq"},
    %wk_0: !wqkv {tpsp.param = "layer0.wk"}, %bk_0: !bqkv {tpsp.param = "layer0.bk"},
    %wv_0: !wqkv {tpsp.param = "layer0.wv"}, %bv_0: !bqkv {tpsp.param = "layer0.bv"},
    %wo_0: !wo {tpsp.param = "layer0.wo"}, %bo_0: !gain {tpsp.param = "layer0.bo"},
    %ln2_gain_0: !gain {tpsp.param = "layer0.ln2.gain"}, %ln2_bias_0: !gain {tpsp.param = "layer0.ln2.bias"},
    %w1_0: !w1 {tpsp.param = "layer0.w1"}, %b1_0: !b1 {tpsp.param = "layer0.b1"},
    %w2_0: !w2 {tpsp.param = "layer0.w2"}, %b2_0: !gain {tpsp.param = "layer0.b2"},
    %ln1_gain_1: !gain {tpsp.param = "layer1.ln1.gain"}, %ln1_bias_1: !gain {tpsp.param = "layer1.ln1.bias"},
    %wq_1: !wqkv {tpsp.param = "layer1.wq"}, %bq_1: !bqkv {tpsp.param = "layer1.bq"},
    %wk_1: !wqkv {tpsp.param = "layer1.wk"}, %bk_1: !bqkv {tpsp.param = "layer1.bk"},
    %wv_1: !wqkv {tpsp.param = "layer1.wv"}, %bv_1: !bqkv {tpsp.param = "layer1.bv"},
    %wo_1: !wo {tpsp.param = "layer1.wo"}, %bo_1: !gain {tpsp.param = "layer1.bo"},
    %ln2_gain_1: !gain {tpsp.param = "layer1.ln2.gain"}, %ln2_bias_1: !gain {tpsp.param = "layer1.ln2.bias"},
    %w1_1: !w1 {tpsp.param = "layer1.w1"}, %b1_1: !b1 {tpsp.param = "layer1.b1"},
    %w2_1: !w2 {tpsp.param = "layer1.w2"}, %b2_1: !gain {tpsp.param = "layer1.b2"}) -> !x {
  %layer0 = call @layer0(%x, %ln1_gain_0, %ln1_bias_0, %wq_0, %bq_0, %wk_0, %bk_0,
                         %wv_0, %bv_0, %wo_0, %bo_0, %ln2_gain_0, %ln2_bias_0,
                         %w1_0, %b1_0, %w2_0, %b2_0)
      : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain,
         !gain, !gain, !w1, !b1, !w2, !gain) -> !x
  %layer1 = call @layer1(%layer0, %ln1_gain_1, %ln1_bias_1, %wq_1, %bq_1, %wk_1, %bk_1,
                         %wv_1, %bv_1, %wo_1, %bo_1, %ln2_gain_1, %ln2_bias_1,
                         %w1_1, %b1_1, %w2_1, %b2_1)
      : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain,
         !gain, !gain, !w1, !b1, !w2, !gain) -> !x
  return %layer1 : !x
}
