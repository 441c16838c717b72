// GPT-2 small, whole: 12 layers of width d 768, 12 heads h of k 64, GELU e 3072,
// sequences of 1024, 8 a step, 50257 tokens v, learned positions p, and a head
// that is the table; 124.4 million parameters. Data parallel over dp, tensor and
// sequence parallel over tp; no axis divides the vocabulary, which is odd.
//
//   tpsp-run examples/gpt2-small.mlir --grad --optimizer adamw --clip 1 --dtype bf16 --simulate --hardware h100-sxm
//   tpsp-train examples/gpt2-small.mlir --data train.bin --batch 4 --steps 1000

tpsp.mesh @mesh <dp = 2 : data, tp = 1 : model>

!ids    = tensor<8x1024xi32, #tpsp.idx<b@dp, s>>
!order  = tensor<1024xi32, #tpsp.idx<s>>
!x      = tensor<8x1024x768xf32, #tpsp.idx<b@dp, s@tp, d>>  // between layers
!x_     = tensor<8x1024x768xf32, #tpsp.idx<b, s, d, ?>>
!place  = tensor<1024x768xf32, #tpsp.idx<s, d, ?>>
!head   = tensor<8x1024x12x64xf32, #tpsp.idx<b, s, h, k, ?>>
!past   = tensor<8x1024x12x64xf32, #tpsp.idx<b, t, h, k, ?>>
!mid    = tensor<8x1024x3072xf32, #tpsp.idx<b, s, e, ?>>
!logits = tensor<8x1024x50257xf32, #tpsp.idx<b, s, v, ?>>
!token  = tensor<8x1024xf32, #tpsp.idx<b, s, ?>>
!loss   = tensor<f32, #tpsp.idx<>>

!wte    = tensor<50257x768xf32, #tpsp.idx<v, d>>
!wpe    = tensor<1024x768xf32, #tpsp.idx<p, d>>
!gain   = tensor<768xf32, #tpsp.idx<d>>
!wqkv   = tensor<12x64x768xf32, #tpsp.idx<h@tp, k, d>>
!bqkv   = tensor<12x64xf32, #tpsp.idx<h@tp, k>>
!wo     = tensor<768x12x64xf32, #tpsp.idx<d, h@tp, k>>
!w1     = tensor<3072x768xf32, #tpsp.idx<e@tp, d>>
!b1     = tensor<3072xf32, #tpsp.idx<e@tp>>
!w2     = tensor<768x3072xf32, #tpsp.idx<d, e@tp>>

func.func private @layer(
    %x: !x, %ln1_gain: !gain, %ln1_bias: !gain, %wq: !wqkv, %bq: !bqkv, %wk: !wqkv, %bk: !bqkv, %wv: !wqkv, %bv: !bqkv,
    %wo: !wo, %bo: !gain, %ln2_gain: !gain, %ln2_bias: !gain, %w1: !w1, %b1: !b1, %w2: !w2, %b2: !gain) -> !x {
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
          scale = 0.125, causal} : (!head, !past, !past) -> !head
  %a0 = tpsp.einsum %wo, %o : (!wo, !head) -> !x_
  %a  = tpsp.add %a0, %bo : (!x_, !gain) -> !x_
  %h  = tpsp.add %x, %a : (!x, !x_) -> !x_

  // MLP.
  %hn = tpsp.layer_norm %h, %ln2_gain, %ln2_bias : (!x_, !gain, !gain) -> !x_
  %m0 = tpsp.einsum %w1, %hn : (!w1, !x_) -> !mid
  %m1 = tpsp.add %m0, %b1 : (!mid, !b1) -> !mid
  %m2 = tpsp.gelu %m1 : !mid
  %m3 = tpsp.einsum %w2, %m2 : (!w2, !mid) -> !x_
  %m  = tpsp.add %m3, %b2 : (!x_, !gain) -> !x_
  %z  = tpsp.add %h, %m : (!x_, !x_) -> !x
  return %z : !x
}

func.func @model(
    %tokens: !ids {tpsp.name = "tokens", tpsp.data = "tokens"},
    %targets: !ids {tpsp.name = "targets", tpsp.data = "next_tokens"},
    %positions: !order {tpsp.name = "positions", tpsp.data = "positions"},
    %wte: !wte {tpsp.param = "wte"}, %wpe: !wpe {tpsp.param = "wpe"},
    %l0_ln1_gain: !gain {tpsp.param = "h.0.ln_1.weight"}, %l0_ln1_bias: !gain {tpsp.param = "h.0.ln_1.bias"},
    %l0_wq: !wqkv {tpsp.param = "h.0.attn.wq"}, %l0_bq: !bqkv {tpsp.param = "h.0.attn.bq"},
    %l0_wk: !wqkv {tpsp.param = "h.0.attn.wk"}, %l0_bk: !bqkv {tpsp.param = "h.0.attn.bk"},
    %l0_wv: !wqkv {tpsp.param = "h.0.attn.wv"}, %l0_bv: !bqkv {tpsp.param = "h.0.attn.bv"},
    %l0_wo: !wo {tpsp.param = "h.0.attn.wo"}, %l0_bo: !gain {tpsp.param = "h.0.attn.bo"},
    %l0_ln2_gain: !gain {tpsp.param = "h.0.ln_2.weight"}, %l0_ln2_bias: !gain {tpsp.param = "h.0.ln_2.bias"},
    %l0_w1: !w1 {tpsp.param = "h.0.mlp.w1"}, %l0_b1: !b1 {tpsp.param = "h.0.mlp.b1"},
    %l0_w2: !w2 {tpsp.param = "h.0.mlp.w2"}, %l0_b2: !gain {tpsp.param = "h.0.mlp.b2"},
    %l1_ln1_gain: !gain {tpsp.param = "h.1.ln_1.weight"}, %l1_ln1_bias: !gain {tpsp.param = "h.1.ln_1.bias"},
    %l1_wq: !wqkv {tpsp.param = "h.1.attn.wq"}, %l1_bq: !bqkv {tpsp.param = "h.1.attn.bq"},
    %l1_wk: !wqkv {tpsp.param = "h.1.attn.wk"}, %l1_bk: !bqkv {tpsp.param = "h.1.attn.bk"},
    %l1_wv: !wqkv {tpsp.param = "h.1.attn.wv"}, %l1_bv: !bqkv {tpsp.param = "h.1.attn.bv"},
    %l1_wo: !wo {tpsp.param = "h.1.attn.wo"}, %l1_bo: !gain {tpsp.param = "h.1.attn.bo"},
    %l1_ln2_gain: !gain {tpsp.param = "h.1.ln_2.weight"}, %l1_ln2_bias: !gain {tpsp.param = "h.1.ln_2.bias"},
    %l1_w1: !w1 {tpsp.param = "h.1.mlp.w1"}, %l1_b1: !b1 {tpsp.param = "h.1.mlp.b1"},
    %l1_w2: !w2 {tpsp.param = "h.1.mlp.w2"}, %l1_b2: !gain {tpsp.param = "h.1.mlp.b2"},
    %l2_ln1_gain: !gain {tpsp.param = "h.2.ln_1.weight"}, %l2_ln1_bias: !gain {tpsp.param = "h.2.ln_1.bias"},
    %l2_wq: !wqkv {tpsp.param = "h.2.attn.wq"}, %l2_bq: !bqkv {tpsp.param = "h.2.attn.bq"},
    %l2_wk: !wqkv {tpsp.param = "h.2.attn.wk"}, %l2_bk: !bqkv {tpsp.param = "h.2.attn.bk"},
    %l2_wv: !wqkv {tpsp.param = "h.2.attn.wv"}, %l2_bv: !bqkv {tpsp.param = "h.2.attn.bv"},
    %l2_wo: !wo {tpsp.param = "h.2.attn.wo"}, %l2_bo: !gain {tpsp.param = "h.2.attn.bo"},
    %l2_ln2_gain: !gain {tpsp.param = "h.2.ln_2.weight"}, %l2_ln2_bias: !gain {tpsp.param = "h.2.ln_2.bias"},
    %l2_w1: !w1 {tpsp.param = "h.2.mlp.w1"}, %l2_b1: !b1 {tpsp.param = "h.2.mlp.b1"},
    %l2_w2: !w2 {tpsp.param = "h.2.mlp.w2"}, %l2_b2: !gain {tpsp.param = "h.2.mlp.b2"},
    %l3_ln1_gain: !gain {tpsp.param = "h.3.ln_1.weight"}, %l3_ln1_bias: !gain {tpsp.param = "h.3.ln_1.bias"},
    %l3_wq: !wqkv {tpsp.param = "h.3.attn.wq"}, %l3_bq: !bqkv {tpsp.param = "h.3.attn.bq"},
    %l3_wk: !wqkv {tpsp.param = "h.3.attn.wk"}, %l3_bk: !bqkv {tpsp.param = "h.3.attn.bk"},
    %l3_wv: !wqkv {tpsp.param = "h.3.attn.wv"}, %l3_bv: !bqkv {tpsp.param = "h.3.attn.bv"},
    %l3_wo: !wo {tpsp.param = "h.3.attn.wo"}, %l3_bo: !gain {tpsp.param = "h.3.attn.bo"},
    %l3_ln2_gain: !gain {tpsp.param = "h.3.ln_2.weight"}, %l3_ln2_bias: !gain {tpsp.param = "h.3.ln_2.bias"},
    %l3_w1: !w1 {tpsp.param = "h.3.mlp.w1"}, %l3_b1: !b1 {tpsp.param = "h.3.mlp.b1"},
    %l3_w2: !w2 {tpsp.param = "h.3.mlp.w2"}, %l3_b2: !gain {tpsp.param = "h.3.mlp.b2"},
    %l4_ln1_gain: !gain {tpsp.param = "h.4.ln_1.weight"}, %l4_ln1_bias: !gain {tpsp.param = "h.4.ln_1.bias"},
    %l4_wq: !wqkv {tpsp.param = "h.4.attn.wq"}, %l4_bq: !bqkv {tpsp.param = "h.4.attn.bq"},
    %l4_wk: !wqkv {tpsp.param = "h.4.attn.wk"}, %l4_bk: !bqkv {tpsp.param = "h.4.attn.bk"},
    %l4_wv: !wqkv {tpsp.param = "h.4.attn.wv"}, %l4_bv: !bqkv {tpsp.param = "h.4.attn.bv"},
    %l4_wo: !wo {tpsp.param = "h.4.attn.wo"}, %l4_bo: !gain {tpsp.param = "h.4.attn.bo"},
    %l4_ln2_gain: !gain {tpsp.param = "h.4.ln_2.weight"}, %l4_ln2_bias: !gain {tpsp.param = "h.4.ln_2.bias"},
    %l4_w1: !w1 {tpsp.param = "h.4.mlp.w1"}, %l4_b1: !b1 {tpsp.param = "h.4.mlp.b1"},
    %l4_w2: !w2 {tpsp.param = "h.4.mlp.w2"}, %l4_b2: !gain {tpsp.param = "h.4.mlp.b2"},
    %l5_ln1_gain: !gain {tpsp.param = "h.5.ln_1.weight"}, %l5_ln1_bias: !gain {tpsp.param = "h.5.ln_1.bias"},
    %l5_wq: !wqkv {tpsp.param = "h.5.attn.wq"}, %l5_bq: !bqkv {tpsp.param = "h.5.attn.bq"},
    %l5_wk: !wqkv {tpsp.param = "h.5.attn.wk"}, %l5_bk: !bqkv {tpsp.param = "h.5.attn.bk"},
    %l5_wv: !wqkv {tpsp.param = "h.5.attn.wv"}, %l5_bv: !bqkv {tpsp.param = "h.5.attn.bv"},
    %l5_wo: !wo {tpsp.param = "h.5.attn.wo"}, %l5_bo: !gain {tpsp.param = "h.5.attn.bo"},
    %l5_ln2_gain: !gain {tpsp.param = "h.5.ln_2.weight"}, %l5_ln2_bias: !gain {tpsp.param = "h.5.ln_2.bias"},
    %l5_w1: !w1 {tpsp.param = "h.5.mlp.w1"}, %l5_b1: !b1 {tpsp.param = "h.5.mlp.b1"},
    %l5_w2: !w2 {tpsp.param = "h.5.mlp.w2"}, %l5_b2: !gain {tpsp.param = "h.5.mlp.b2"},
    %l6_ln1_gain: !gain {tpsp.param = "h.6.ln_1.weight"}, %l6_ln1_bias: !gain {tpsp.param = "h.6.ln_1.bias"},
    %l6_wq: !wqkv {tpsp.param = "h.6.attn.wq"}, %l6_bq: !bqkv {tpsp.param = "h.6.attn.bq"},
    %l6_wk: !wqkv {tpsp.param = "h.6.attn.wk"}, %l6_bk: !bqkv {tpsp.param = "h.6.attn.bk"},
    %l6_wv: !wqkv {tpsp.param = "h.6.attn.wv"}, %l6_bv: !bqkv {tpsp.param = "h.6.attn.bv"},
    %l6_wo: !wo {tpsp.param = "h.6.attn.wo"}, %l6_bo: !gain {tpsp.param = "h.6.attn.bo"},
    %l6_ln2_gain: !gain {tpsp.param = "h.6.ln_2.weight"}, %l6_ln2_bias: !gain {tpsp.param = "h.6.ln_2.bias"},
    %l6_w1: !w1 {tpsp.param = "h.6.mlp.w1"}, %l6_b1: !b1 {tpsp.param = "h.6.mlp.b1"},
    %l6_w2: !w2 {tpsp.param = "h.6.mlp.w2"}, %l6_b2: !gain {tpsp.param = "h.6.mlp.b2"},
    %l7_ln1_gain: !gain {tpsp.param = "h.7.ln_1.weight"}, %l7_ln1_bias: !gain {tpsp.param = "h.7.ln_1.bias"},
    %l7_wq: !wqkv {tpsp.param = "h.7.attn.wq"}, %l7_bq: !bqkv {tpsp.param = "h.7.attn.bq"},
    %l7_wk: !wqkv {tpsp.param = "h.7.attn.wk"}, %l7_bk: !bqkv {tpsp.param = "h.7.attn.bk"},
    %l7_wv: !wqkv {tpsp.param = "h.7.attn.wv"}, %l7_bv: !bqkv {tpsp.param = "h.7.attn.bv"},
    %l7_wo: !wo {tpsp.param = "h.7.attn.wo"}, %l7_bo: !gain {tpsp.param = "h.7.attn.bo"},
    %l7_ln2_gain: !gain {tpsp.param = "h.7.ln_2.weight"}, %l7_ln2_bias: !gain {tpsp.param = "h.7.ln_2.bias"},
    %l7_w1: !w1 {tpsp.param = "h.7.mlp.w1"}, %l7_b1: !b1 {tpsp.param = "h.7.mlp.b1"},
    %l7_w2: !w2 {tpsp.param = "h.7.mlp.w2"}, %l7_b2: !gain {tpsp.param = "h.7.mlp.b2"},
    %l8_ln1_gain: !gain {tpsp.param = "h.8.ln_1.weight"}, %l8_ln1_bias: !gain {tpsp.param = "h.8.ln_1.bias"},
    %l8_wq: !wqkv {tpsp.param = "h.8.attn.wq"}, %l8_bq: !bqkv {tpsp.param = "h.8.attn.bq"},
    %l8_wk: !wqkv {tpsp.param = "h.8.attn.wk"}, %l8_bk: !bqkv {tpsp.param = "h.8.attn.bk"},
    %l8_wv: !wqkv {tpsp.param = "h.8.attn.wv"}, %l8_bv: !bqkv {tpsp.param = "h.8.attn.bv"},
    %l8_wo: !wo {tpsp.param = "h.8.attn.wo"}, %l8_bo: !gain {tpsp.param = "h.8.attn.bo"},
    %l8_ln2_gain: !gain {tpsp.param = "h.8.ln_2.weight"}, %l8_ln2_bias: !gain {tpsp.param = "h.8.ln_2.bias"},
    %l8_w1: !w1 {tpsp.param = "h.8.mlp.w1"}, %l8_b1: !b1 {tpsp.param = "h.8.mlp.b1"},
    %l8_w2: !w2 {tpsp.param = "h.8.mlp.w2"}, %l8_b2: !gain {tpsp.param = "h.8.mlp.b2"},
    %l9_ln1_gain: !gain {tpsp.param = "h.9.ln_1.weight"}, %l9_ln1_bias: !gain {tpsp.param = "h.9.ln_1.bias"},
    %l9_wq: !wqkv {tpsp.param = "h.9.attn.wq"}, %l9_bq: !bqkv {tpsp.param = "h.9.attn.bq"},
    %l9_wk: !wqkv {tpsp.param = "h.9.attn.wk"}, %l9_bk: !bqkv {tpsp.param = "h.9.attn.bk"},
    %l9_wv: !wqkv {tpsp.param = "h.9.attn.wv"}, %l9_bv: !bqkv {tpsp.param = "h.9.attn.bv"},
    %l9_wo: !wo {tpsp.param = "h.9.attn.wo"}, %l9_bo: !gain {tpsp.param = "h.9.attn.bo"},
    %l9_ln2_gain: !gain {tpsp.param = "h.9.ln_2.weight"}, %l9_ln2_bias: !gain {tpsp.param = "h.9.ln_2.bias"},
    %l9_w1: !w1 {tpsp.param = "h.9.mlp.w1"}, %l9_b1: !b1 {tpsp.param = "h.9.mlp.b1"},
    %l9_w2: !w2 {tpsp.param = "h.9.mlp.w2"}, %l9_b2: !gain {tpsp.param = "h.9.mlp.b2"},
    %l10_ln1_gain: !gain {tpsp.param = "h.10.ln_1.weight"}, %l10_ln1_bias: !gain {tpsp.param = "h.10.ln_1.bias"},
    %l10_wq: !wqkv {tpsp.param = "h.10.attn.wq"}, %l10_bq: !bqkv {tpsp.param = "h.10.attn.bq"},
    %l10_wk: !wqkv {tpsp.param = "h.10.attn.wk"}, %l10_bk: !bqkv {tpsp.param = "h.10.attn.bk"},
    %l10_wv: !wqkv {tpsp.param = "h.10.attn.wv"}, %l10_bv: !bqkv {tpsp.param = "h.10.attn.bv"},
    %l10_wo: !wo {tpsp.param = "h.10.attn.wo"}, %l10_bo: !gain {tpsp.param = "h.10.attn.bo"},
    %l10_ln2_gain: !gain {tpsp.param = "h.10.ln_2.weight"}, %l10_ln2_bias: !gain {tpsp.param = "h.10.ln_2.bias"},
    %l10_w1: !w1 {tpsp.param = "h.10.mlp.w1"}, %l10_b1: !b1 {tpsp.param = "h.10.mlp.b1"},
    %l10_w2: !w2 {tpsp.param = "h.10.mlp.w2"}, %l10_b2: !gain {tpsp.param = "h.10.mlp.b2"},
    %l11_ln1_gain: !gain {tpsp.param = "h.11.ln_1.weight"}, %l11_ln1_bias: !gain {tpsp.param = "h.11.ln_1.bias"},
    %l11_wq: !wqkv {tpsp.param = "h.11.attn.wq"}, %l11_bq: !bqkv {tpsp.param = "h.11.attn.bq"},
    %l11_wk: !wqkv {tpsp.param = "h.11.attn.wk"}, %l11_bk: !bqkv {tpsp.param = "h.11.attn.bk"},
    %l11_wv: !wqkv {tpsp.param = "h.11.attn.wv"}, %l11_bv: !bqkv {tpsp.param = "h.11.attn.bv"},
    %l11_wo: !wo {tpsp.param = "h.11.attn.wo"}, %l11_bo: !gain {tpsp.param = "h.11.attn.bo"},
    %l11_ln2_gain: !gain {tpsp.param = "h.11.ln_2.weight"}, %l11_ln2_bias: !gain {tpsp.param = "h.11.ln_2.bias"},
    %l11_w1: !w1 {tpsp.param = "h.11.mlp.w1"}, %l11_b1: !b1 {tpsp.param = "h.11.mlp.b1"},
    %l11_w2: !w2 {tpsp.param = "h.11.mlp.w2"}, %l11_b2: !gain {tpsp.param = "h.11.mlp.b2"},
    %gain: !gain {tpsp.param = "ln_f.weight"}, %bias: !gain {tpsp.param = "ln_f.bias"}) -> (!loss {tpsp.name = "loss"}) {
  %e  = tpsp.embedding %tokens, %wte {vocabulary = "v"} : (!ids, !wte) -> !x_
  %p  = tpsp.embedding %positions, %wpe {vocabulary = "p"} : (!order, !wpe) -> !place
  %x0 = tpsp.add %e, %p : (!x_, !place) -> !x
  %x1 = func.call @layer(%x0, %l0_ln1_gain, %l0_ln1_bias, %l0_wq, %l0_bq, %l0_wk, %l0_bk, %l0_wv, %l0_bv, %l0_wo, %l0_bo, %l0_ln2_gain, %l0_ln2_bias, %l0_w1, %l0_b1, %l0_w2, %l0_b2)
          : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain, !gain, !gain, !w1, !b1, !w2, !gain) -> !x
  %x2 = func.call @layer(%x1, %l1_ln1_gain, %l1_ln1_bias, %l1_wq, %l1_bq, %l1_wk, %l1_bk, %l1_wv, %l1_bv, %l1_wo, %l1_bo, %l1_ln2_gain, %l1_ln2_bias, %l1_w1, %l1_b1, %l1_w2, %l1_b2)
          : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain, !gain, !gain, !w1, !b1, !w2, !gain) -> !x
  %x3 = func.call @layer(%x2, %l2_ln1_gain, %l2_ln1_bias, %l2_wq, %l2_bq, %l2_wk, %l2_bk, %l2_wv, %l2_bv, %l2_wo, %l2_bo, %l2_ln2_gain, %l2_ln2_bias, %l2_w1, %l2_b1, %l2_w2, %l2_b2)
          : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain, !gain, !gain, !w1, !b1, !w2, !gain) -> !x
  %x4 = func.call @layer(%x3, %l3_ln1_gain, %l3_ln1_bias, %l3_wq, %l3_bq, %l3_wk, %l3_bk, %l3_wv, %l3_bv, %l3_wo, %l3_bo, %l3_ln2_gain, %l3_ln2_bias, %l3_w1, %l3_b1, %l3_w2, %l3_b2)
          : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain, !gain, !gain, !w1, !b1, !w2, !gain) -> !x
  %x5 = func.call @layer(%x4, %l4_ln1_gain, %l4_ln1_bias, %l4_wq, %l4_bq, %l4_wk, %l4_bk, %l4_wv, %l4_bv, %l4_wo, %l4_bo, %l4_ln2_gain, %l4_ln2_bias, %l4_w1, %l4_b1, %l4_w2, %l4_b2)
          : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain, !gain, !gain, !w1, !b1, !w2, !gain) -> !x
  %x6 = func.call @layer(%x5, %l5_ln1_gain, %l5_ln1_bias, %l5_wq, %l5_bq, %l5_wk, %l5_bk, %l5_wv, %l5_bv, %l5_wo, %l5_bo, %l5_ln2_gain, %l5_ln2_bias, %l5_w1, %l5_b1, %l5_w2, %l5_b2)
          : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain, !gain, !gain, !w1, !b1, !w2, !gain) -> !x
  %x7 = func.call @layer(%x6, %l6_ln1_gain, %l6_ln1_bias, %l6_wq, %l6_bq, %l6_wk, %l6_bk, %l6_wv, %l6_bv, %l6_wo, %l6_bo, %l6_ln2_gain, %l6_ln2_bias, %l6_w1, %l6_b1, %l6_w2, %l6_b2)
          : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain, !gain, !gain, !w1, !b1, !w2, !gain) -> !x
  %x8 = func.call @layer(%x7, %l7_ln1_gain, %l7_ln1_bias, %l7_wq, %l7_bq, %l7_wk, %l7_bk, %l7_wv, %l7_bv, %l7_wo, %l7_bo, %l7_ln2_gain, %l7_ln2_bias, %l7_w1, %l7_b1, %l7_w2, %l7_b2)
          : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain, !gain, !gain, !w1, !b1, !w2, !gain) -> !x
  %x9 = func.call @layer(%x8, %l8_ln1_gain, %l8_ln1_bias, %l8_wq, %l8_bq, %l8_wk, %l8_bk, %l8_wv, %l8_bv, %l8_wo, %l8_bo, %l8_ln2_gain, %l8_ln2_bias, %l8_w1, %l8_b1, %l8_w2, %l8_b2)
          : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain, !gain, !gain, !w1, !b1, !w2, !gain) -> !x
  %x10 = func.call @layer(%x9, %l9_ln1_gain, %l9_ln1_bias, %l9_wq, %l9_bq, %l9_wk, %l9_bk, %l9_wv, %l9_bv, %l9_wo, %l9_bo, %l9_ln2_gain, %l9_ln2_bias, %l9_w1, %l9_b1, %l9_w2, %l9_b2)
          : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain, !gain, !gain, !w1, !b1, !w2, !gain) -> !x
  %x11 = func.call @layer(%x10, %l10_ln1_gain, %l10_ln1_bias, %l10_wq, %l10_bq, %l10_wk, %l10_bk, %l10_wv, %l10_bv, %l10_wo, %l10_bo, %l10_ln2_gain, %l10_ln2_bias, %l10_w1, %l10_b1, %l10_w2, %l10_b2)
          : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain, !gain, !gain, !w1, !b1, !w2, !gain) -> !x
  %x12 = func.call @layer(%x11, %l11_ln1_gain, %l11_ln1_bias, %l11_wq, %l11_bq, %l11_wk, %l11_bk, %l11_wv, %l11_bv, %l11_wo, %l11_bo, %l11_ln2_gain, %l11_ln2_bias, %l11_w1, %l11_b1, %l11_w2, %l11_b2)
          : (!x, !gain, !gain, !wqkv, !bqkv, !wqkv, !bqkv, !wqkv, !bqkv, !wo, !gain, !gain, !gain, !w1, !b1, !w2, !gain) -> !x

  %xn     = tpsp.layer_norm %x12, %gain, %bias : (!x, !gain, !gain) -> !x_
  %logits = tpsp.einsum %wte, %xn : (!wte, !x_) -> !logits
  %token  = tpsp.cross_entropy %logits, %targets {over = "v"} : (!logits, !ids) -> !token
  %loss   = tpsp.mean %token : (!token) -> !loss
  return %loss : !loss
}
