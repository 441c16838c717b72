// A GPT block with dropout (of the attention's weights and of both branches)
// under tensor and sequence parallelism. A mask depends on the seed and on the
// global position of an element, so that it is the unsharded program's on every
// mesh: no seeds to synchronise, none to keep apart, and no collective.
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

func.func @block(
    %x: !x {tpsp.name = "x"},
    %ln1_gain: !gain {tpsp.param = "ln1.gain"}, %ln1_bias: !gain {tpsp.param = "ln1.bias"},
    %wq: !wqkv {tpsp.param = "wq"}, %bq: !bqkv {tpsp.param = "bq"},
    %wk: !wqkv {tpsp.param = "wk"}, %bk: !bqkv {tpsp.param = "bk"},
    %wv: !wqkv {tpsp.param = "wv"}, %bv: !bqkv {tpsp.param = "bv"},
    %wo: !wo {tpsp.param = "wo"}, %bo: !gain {tpsp.param = "bo"},
    %ln2_gain: !gain {tpsp.param = "ln2.gain"}, %ln2_bias: !gain {tpsp.param = "ln2.bias"},
    %w1: !w1 {tpsp.param = "w1"}, %b1: !b1 {tpsp.param = "b1"},
    %w2: !w2 {tpsp.param = "w2"}, %b2: !gain {tpsp.param = "b2"}) -> !x {
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
