// A small Llama that reads bytes: 6 layers of width d 256, 8 query heads of k 32
// in h 4 groups of r 2 that share a key/value head, SwiGLU e 768, sequences of
// 256, 16 a step; 4.9 million parameters. Data parallel over dp, tensor and
// sequence parallel over tp.
//
//   tpsp-train examples/llama-tiny.mlir --data README.md --steps 50
//   tpsp-train examples/llama-tiny.mlir --data README.md --mesh dp=1,tp=2
//   tpsp-run examples/llama-tiny.mlir --grad --verify

tpsp.mesh @mesh <dp = 2 : data, tp = 1 : model>

!ids    = tensor<16x256xi32, #tpsp.idx<b@dp, s>>
!x      = tensor<16x256x256xf32, #tpsp.idx<b@dp, s@tp, d>>  // between layers
!x_     = tensor<16x256x256xf32, #tpsp.idx<b, s, d, ?>>
!q      = tensor<16x256x4x2x32xf32, #tpsp.idx<b, s, h, r, k, ?>>
!kv     = tensor<16x256x4x32xf32, #tpsp.idx<b, s, h, k, ?>>
!past   = tensor<16x256x4x32xf32, #tpsp.idx<b, t, h, k, ?>>
!mid    = tensor<16x256x768xf32, #tpsp.idx<b, s, e, ?>>
!logits = tensor<16x256x256xf32, #tpsp.idx<b, s, v, ?>>
!token  = tensor<16x256xf32, #tpsp.idx<b, s, ?>>
!loss   = tensor<f32, #tpsp.idx<>>

!table  = tensor<256x256xf32, #tpsp.idx<v@tp, d>>
!gain   = tensor<256xf32, #tpsp.idx<d>>
!wq     = tensor<4x2x32x256xf32, #tpsp.idx<h@tp, r, k, d>>
!wkv    = tensor<4x32x256xf32, #tpsp.idx<h@tp, k, d>>
!wo     = tensor<256x4x2x32xf32, #tpsp.idx<d, h@tp, r, k>>
!wup    = tensor<768x256xf32, #tpsp.idx<e@tp, d>>
!wdn    = tensor<256x768xf32, #tpsp.idx<d, e@tp>>

func.func private @layer(
    %x: !x, %attention_gain: !gain, %wq: !wq, %wk: !wkv, %wv: !wkv, %wo: !wo,
    %ffn_gain: !gain, %w1: !wup, %w3: !wup, %w2: !wdn) -> !x {
  // Attention.
  %xn = tpsp.rms_norm %x, %attention_gain : (!x, !gain) -> !x_
  %q0 = tpsp.einsum %wq, %xn : (!wq, !x_) -> !q
  %k0 = tpsp.einsum %wk, %xn : (!wkv, !x_) -> !kv
  %v0 = tpsp.einsum %wv, %xn : (!wkv, !x_) -> !kv
  %q  = tpsp.rope %q0 {position = "s", feature = "k", theta = 10000.0} : !q
  %k1 = tpsp.rope %k0 {position = "s", feature = "k", theta = 10000.0} : !kv
  %k  = tpsp.rename %k1 : !kv -> !past
  %v  = tpsp.rename %v0 : !kv -> !past
  %o  = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
          scale = 0.17677669529663687, causal} : (!q, !past, !past) -> !q
  %a  = tpsp.einsum %wo, %o : (!wo, !q) -> !x_
  %h  = tpsp.add %x, %a : (!x, !x_) -> !x_

  // SwiGLU.
  %hn = tpsp.rms_norm %h, %ffn_gain : (!x_, !gain) -> !x_
  %g  = tpsp.einsum %w1, %hn : (!wup, !x_) -> !mid
  %gs = tpsp.silu %g : !mid
  %u  = tpsp.einsum %w3, %hn : (!wup, !x_) -> !mid
  %m  = tpsp.mul %gs, %u : !mid
  %f  = tpsp.einsum %w2, %m : (!wdn, !mid) -> !x_
  %z  = tpsp.add %h, %f : (!x_, !x_) -> !x
  return %z : !x
}

func.func @model(
    %tokens: !ids {tpsp.name = "tokens", tpsp.data = "tokens"},
    %targets: !ids {tpsp.name = "targets", tpsp.data = "next_tokens"},
    %table: !table {tpsp.param = "table"},
    %l0_attention_gain: !gain {tpsp.param = "layers.0.attention_norm"}, %l0_wq: !wq {tpsp.param = "layers.0.wq"},
    %l0_wk: !wkv {tpsp.param = "layers.0.wk"}, %l0_wv: !wkv {tpsp.param = "layers.0.wv"},
    %l0_wo: !wo {tpsp.param = "layers.0.wo"}, %l0_ffn_gain: !gain {tpsp.param = "layers.0.ffn_norm"},
    %l0_w1: !wup {tpsp.param = "layers.0.w1"}, %l0_w3: !wup {tpsp.param = "layers.0.w3"},
    %l0_w2: !wdn {tpsp.param = "layers.0.w2"},
    %l1_attention_gain: !gain {tpsp.param = "layers.1.attention_norm"}, %l1_wq: !wq {tpsp.param = "layers.1.wq"},
    %l1_wk: !wkv {tpsp.param = "layers.1.wk"}, %l1_wv: !wkv {tpsp.param = "layers.1.wv"},
    %l1_wo: !wo {tpsp.param = "layers.1.wo"}, %l1_ffn_gain: !gain {tpsp.param = "layers.1.ffn_norm"},
    %l1_w1: !wup {tpsp.param = "layers.1.w1"}, %l1_w3: !wup {tpsp.param = "layers.1.w3"},
    %l1_w2: !wdn {tpsp.param = "layers.1.w2"},
    %l2_attention_gain: !gain {tpsp.param = "layers.2.attention_norm"}, %l2_wq: !wq {tpsp.param = "layers.2.wq"},
    %l2_wk: !wkv {tpsp.param = "layers.2.wk"}, %l2_wv: !wkv {tpsp.param = "layers.2.wv"},
    %l2_wo: !wo {tpsp.param = "layers.2.wo"}, %l2_ffn_gain: !gain {tpsp.param = "layers.2.ffn_norm"},
    %l2_w1: !wup {tpsp.param = "layers.2.w1"}, %l2_w3: !wup {tpsp.param = "layers.2.w3"},
    %l2_w2: !wdn {tpsp.param = "layers.2.w2"},
    %l3_attention_gain: !gain {tpsp.param = "layers.3.attention_norm"}, %l3_wq: !wq {tpsp.param = "layers.3.wq"},
    %l3_wk: !wkv {tpsp.param = "layers.3.wk"}, %l3_wv: !wkv {tpsp.param = "layers.3.wv"},
    %l3_wo: !wo {tpsp.param = "layers.3.wo"}, %l3_ffn_gain: !gain {tpsp.param = "layers.3.ffn_norm"},
    %l3_w1: !wup {tpsp.param = "layers.3.w1"}, %l3_w3: !wup {tpsp.param = "layers.3.w3"},
    %l3_w2: !wdn {tpsp.param = "layers.3.w2"},
    %l4_attention_gain: !gain {tpsp.param = "layers.4.attention_norm"}, %l4_wq: !wq {tpsp.param = "layers.4.wq"},
    %l4_wk: !wkv {tpsp.param = "layers.4.wk"}, %l4_wv: !wkv {tpsp.param = "layers.4.wv"},
    %l4_wo: !wo {tpsp.param = "layers.4.wo"}, %l4_ffn_gain: !gain {tpsp.param = "layers.4.ffn_norm"},
    %l4_w1: !wup {tpsp.param = "layers.4.w1"}, %l4_w3: !wup {tpsp.param = "layers.4.w3"},
    %l4_w2: !wdn {tpsp.param = "layers.4.w2"},
    %l5_attention_gain: !gain {tpsp.param = "layers.5.attention_norm"}, %l5_wq: !wq {tpsp.param = "layers.5.wq"},
    %l5_wk: !wkv {tpsp.param = "layers.5.wk"}, %l5_wv: !wkv {tpsp.param = "layers.5.wv"},
    %l5_wo: !wo {tpsp.param = "layers.5.wo"}, %l5_ffn_gain: !gain {tpsp.param = "layers.5.ffn_norm"},
    %l5_w1: !wup {tpsp.param = "layers.5.w1"}, %l5_w3: !wup {tpsp.param = "layers.5.w3"},
    %l5_w2: !wdn {tpsp.param = "layers.5.w2"},
    %gain: !gain {tpsp.param = "norm"}, %head: !table {tpsp.param = "head"}) -> !loss {
  %x0 = tpsp.embedding %tokens, %table {vocabulary = "v"} : (!ids, !table) -> !x
  %x1 = func.call @layer(%x0, %l0_attention_gain, %l0_wq, %l0_wk, %l0_wv, %l0_wo, %l0_ffn_gain, %l0_w1, %l0_w3, %l0_w2)
          : (!x, !gain, !wq, !wkv, !wkv, !wo, !gain, !wup, !wup, !wdn) -> !x
  %x2 = func.call @layer(%x1, %l1_attention_gain, %l1_wq, %l1_wk, %l1_wv, %l1_wo, %l1_ffn_gain, %l1_w1, %l1_w3, %l1_w2)
          : (!x, !gain, !wq, !wkv, !wkv, !wo, !gain, !wup, !wup, !wdn) -> !x
  %x3 = func.call @layer(%x2, %l2_attention_gain, %l2_wq, %l2_wk, %l2_wv, %l2_wo, %l2_ffn_gain, %l2_w1, %l2_w3, %l2_w2)
          : (!x, !gain, !wq, !wkv, !wkv, !wo, !gain, !wup, !wup, !wdn) -> !x
  %x4 = func.call @layer(%x3, %l3_attention_gain, %l3_wq, %l3_wk, %l3_wv, %l3_wo, %l3_ffn_gain, %l3_w1, %l3_w3, %l3_w2)
          : (!x, !gain, !wq, !wkv, !wkv, !wo, !gain, !wup, !wup, !wdn) -> !x
  %x5 = func.call @layer(%x4, %l4_attention_gain, %l4_wq, %l4_wk, %l4_wv, %l4_wo, %l4_ffn_gain, %l4_w1, %l4_w3, %l4_w2)
          : (!x, !gain, !wq, !wkv, !wkv, !wo, !gain, !wup, !wup, !wdn) -> !x
  %x6 = func.call @layer(%x5, %l5_attention_gain, %l5_wq, %l5_wk, %l5_wv, %l5_wo, %l5_ffn_gain, %l5_w1, %l5_w3, %l5_w2)
          : (!x, !gain, !wq, !wkv, !wkv, !wo, !gain, !wup, !wup, !wdn) -> !x

  %xn     = tpsp.rms_norm %x6, %gain : (!x, !gain) -> !x_
  %logits = tpsp.einsum %head, %xn : (!table, !x_) -> !logits
  %token  = tpsp.cross_entropy %logits, %targets {over = "v"} : (!logits, !ids) -> !token
  %loss   = tpsp.mean %token : (!token) -> !loss
  return %loss : !loss
}
