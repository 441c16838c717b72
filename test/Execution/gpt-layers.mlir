// A whole GPT with its loss, layers as calls. The gradients of queries' and
// keys' weights pass a softmax whose rows are nearly uniform. So in 16 bits
// rounding takes their digits, on four ranks no more than on one.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify --quiet
// RUN: tpsp-run %s --grad --verify --quiet --mesh tp=4 --seed 2
// RUN: tpsp-run %s --grad --verify --quiet --mesh tp=1 --dtype bf16
// RUN: tpsp-run %s --grad --verify --quiet --mesh tp=4 --dtype bf16
// RUN: tpsp-run %s --grad --verify --quiet --mesh tp=4 --dtype f16 --seed 3
tpsp.mesh @mesh <tp = 2 : model>
!ids  = tensor<2x32xi32, #tpsp.idx<b, s>>
!tab  = tensor<128x64xf32, #tpsp.idx<v@tp, d>>
!pos  = tensor<32x64xf32, #tpsp.idx<s, d>>
!x    = tensor<2x32x64xf32, #tpsp.idx<b, s@tp, d>>
!x_   = tensor<2x32x64xf32, #tpsp.idx<b, s, d, ?>>
!head = tensor<2x32x4x16xf32, #tpsp.idx<b, s, h, k, ?>>
!past = tensor<2x32x4x16xf32, #tpsp.idx<b, t, h, k, ?>>
!mid  = tensor<2x32x256xf32, #tpsp.idx<b, s, e, ?>>
!gain = tensor<64xf32, #tpsp.idx<d>>
!wqkv = tensor<4x16x64xf32, #tpsp.idx<h@tp, k, d>>
!bqkv = tensor<4x16xf32, #tpsp.idx<h@tp, k>>
!wo   = tensor<64x4x16xf32, #tpsp.idx<d, h@tp, k>>
!w1   = tensor<256x64xf32, #tpsp.idx<e@tp, d>>
!b1   = tensor<256xf32, #tpsp.idx<e@tp>>
!w2   = tensor<64x256xf32, #tpsp.idx<d, e@tp>>
!log  = tensor<2x32x128xf32, #tpsp.idx<b, s, v, ?>>
!tok  = tensor<2x32xf32, #tpsp.idx<b, s, ?>>
!loss = tensor<f32, #tpsp.idx<>>

func.func private @layer(%x: !x, %ln1g: !gain, %ln1b: !gain, %wq: !wqkv, %bq: !bqkv, %wk: !wqkv, %bk: !bqkv, %wv: !wqkv, %bv: !bqkv, %wo: !wo, %bo: !gain, %ln2g: !gain, %ln2b: !gain, %w1: !w1, %b1: !b1, %w2: !w2, %b2: !gain) -> !x {
  %xn = tpsp.layer_norm %x, %ln1g, %ln1b : (!x, !gain, !gain) -> !x_
  %q0 = tpsp.einsum %wq, %xn : (!wqkv, !x_) -> !head
  %q  = tpsp.add %q0, %bq : (!head, !bqkv) -> !head
  %k0 = tpsp.einsum %wk, %xn : (!wqkv, !x_) -> !head
  %k1 = tpsp.add %k0, %bk : (!head, !bqkv) -> !head
  %k  = tpsp.rename %k1 : !head -> !past
  %v0 = tpsp.einsum %wv, %xn : (!wqkv, !x_) -> !head
  %v1 = tpsp.add %v0, %bv : (!head, !bqkv) -> !head
  %v  = tpsp.rename %v1 : !head -> !past
  %o  = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
          scale = 0.25, causal} : (!head, !past, !past) -> !head
  %a0 = tpsp.einsum %wo, %o : (!wo, !head) -> !x_
  %a  = tpsp.add %a0, %bo : (!x_, !gain) -> !x_
  %h  = tpsp.add %x, %a : (!x, !x_) -> !x_
  %hn = tpsp.layer_norm %h, %ln2g, %ln2b : (!x_, !gain, !gain) -> !x_
  %m0 = tpsp.einsum %w1, %hn : (!w1, !x_) -> !mid
  %m1 = tpsp.add %m0, %b1 : (!mid, !b1) -> !mid
  %m2 = tpsp.gelu %m1 : !mid
  %m3 = tpsp.einsum %w2, %m2 : (!w2, !mid) -> !x_
  %m  = tpsp.add %m3, %b2 : (!x_, !gain) -> !x_
  %z  = tpsp.add %h, %m : (!x_, !x_) -> !x
  return %z : !x
}
func.func @gpt(%ids: !ids {tpsp.name = "ids"},
    %targets: !ids {tpsp.name = "targets"},
    %table: !tab {tpsp.param = "table"},
    %positions: !pos {tpsp.param = "positions"},
    %lnfg: !gain {tpsp.param = "lnf.gain"},
    %lnfb: !gain {tpsp.param = "lnf.bias"},
    %ln1g0: !gain {tpsp.param = "l0.ln1g"},
    %ln1b0: !gain {tpsp.param = "l0.ln1b"},
    %wq0: !wqkv {tpsp.param = "l0.wq"},
    %bq0: !bqkv {tpsp.param = "l0.bq"},
    %wk0: !wqkv {tpsp.param = "l0.wk"},
    %bk0: !bqkv {tpsp.param = "l0.bk"},
    %wv0: !wqkv {tpsp.param = "l0.wv"},
    %bv0: !bqkv {tpsp.param = "l0.bv"},
    %wo0: !wo {tpsp.param = "l0.wo"},
    %bo0: !gain {tpsp.param = "l0.bo"},
    %ln2g0: !gain {tpsp.param = "l0.ln2g"},
    %ln2b0: !gain {tpsp.param = "l0.ln2b"},
    %w10: !w1 {tpsp.param = "l0.w1"},
    %b10: !b1 {tpsp.param = "l0.b1"},
    %w20: !w2 {tpsp.param = "l0.w2"},
    %b20: !gain {tpsp.param = "l0.b2"},
    %ln1g1: !gain {tpsp.param = "l1.ln1g"},
    %ln1b1: !gain {tpsp.param = "l1.ln1b"},
    %wq1: !wqkv {tpsp.param = "l1.wq"},
    %bq1: !bqkv {tpsp.param = "l1.bq"},
    %wk1: !wqkv {tpsp.param = "l1.wk"},
    %bk1: !bqkv {tpsp.param = "l1.bk"},
    %wv1: !wqkv {tpsp.param = "l1.wv"},
    %bv1: !bqkv {tpsp.param = "l1.bv"},
    %wo1: !wo {tpsp.param = "l1.wo"},
    %bo1: !gain {tpsp.param = "l1.bo"},
    %ln2g1: !gain {tpsp.param = "l1.ln2g"},
    %ln2b1: !gain {tpsp.param = "l1.ln2b"},
    %w11: !w1 {tpsp.param = "l1.w1"},
    %b11: !b1 {tpsp.param = "l1.b1"},
    %w21: !w2 {tpsp.param = "l1.w2"},
    %b21: !gain {tpsp.param = "l1.b2"},
    %ln1g2: !gain {tpsp.param = "l2.ln1g"},
    %ln1b2: !gain {tpsp.param = "l2.ln1b"},
    %wq2: !wqkv {tpsp.param = "l2.wq"},
    %bq2: !bqkv {tpsp.param = "l2.bq"},
    %wk2: !wqkv {tpsp.param = "l2.wk"},
    %bk2: !bqkv {tpsp.param = "l2.bk"},
    %wv2: !wqkv {tpsp.param = "l2.wv"},
    %bv2: !bqkv {tpsp.param = "l2.bv"},
    %wo2: !wo {tpsp.param = "l2.wo"},
    %bo2: !gain {tpsp.param = "l2.bo"},
    %ln2g2: !gain {tpsp.param = "l2.ln2g"},
    %ln2b2: !gain {tpsp.param = "l2.ln2b"},
    %w12: !w1 {tpsp.param = "l2.w1"},
    %b12: !b1 {tpsp.param = "l2.b1"},
    %w22: !w2 {tpsp.param = "l2.w2"},
    %b22: !gain {tpsp.param = "l2.b2"}) -> (!loss {tpsp.name = "loss"}) {
  %e0 = tpsp.embedding %ids, %table {vocabulary = "v"} : (!ids, !tab) -> !x
  %x0 = tpsp.add %e0, %positions : (!x, !pos) -> !x
  %x1 = func.call @layer(%x0, %ln1g0, %ln1b0, %wq0, %bq0, %wk0, %bk0, %wv0, %bv0, %wo0, %bo0, %ln2g0, %ln2b0, %w10, %b10, %w20, %b20) : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain, !gain, !gain, !w1, !b1, !w2, !gain) -> !x
  %x2 = func.call @layer(%x1, %ln1g1, %ln1b1, %wq1, %bq1, %wk1, %bk1, %wv1, %bv1, %wo1, %bo1, %ln2g1, %ln2b1, %w11, %b11, %w21, %b21) : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain, !gain, !gain, !w1, !b1, !w2, !gain) -> !x
  %x3 = func.call @layer(%x2, %ln1g2, %ln1b2, %wq2, %bq2, %wk2, %bk2, %wv2, %bv2, %wo2, %bo2, %ln2g2, %ln2b2, %w12, %b12, %w22, %b22) : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain, !gain, !gain, !w1, !b1, !w2, !gain) -> !x
  %n = tpsp.layer_norm %x3, %lnfg, %lnfb : (!x, !gain, !gain) -> !x_
  %logits = tpsp.einsum %table, %n : (!tab, !x_) -> !log
  %each = tpsp.cross_entropy %logits, %targets {over = "v"} : (!log, !ids) -> !tok
  %loss = tpsp.mean %each : !tok -> !loss
  return %loss : !loss
}
