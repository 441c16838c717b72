// One layer of Llama-3.1 70B at its true widths, under tensor and sequence
// parallelism on 8 ranks: hidden d 8192, 64 query heads of k 128 in h 8 groups
// of r 8 that share a key/value head, SwiGLU e 28672, RMS norm, rotary
// embeddings (theta 500000), causal attention. Batch 1, sequence 8192, bf16.
// Made for --simulate: a rank's scores alone are a gibibyte.
//
//   tpsp-run examples/llama3-70b-block.mlir --grad --simulate
//       --hardware h100-sxm --overlap on

tpsp.mesh @mesh <tp = 8 : model>

!x    = tensor<1x8192x8192xbf16, #tpsp.idx<b, s@tp, d>>   // between layers
!x_   = tensor<1x8192x8192xbf16, #tpsp.idx<b, s, d, ?>>
!q    = tensor<1x8192x8x8x128xbf16, #tpsp.idx<b, s, h, r, k, ?>>
!kv   = tensor<1x8192x8x128xbf16, #tpsp.idx<b, s, h, k, ?>>
!past = tensor<1x8192x8x128xbf16, #tpsp.idx<b, t, h, k, ?>>
!mid  = tensor<1x8192x28672xbf16, #tpsp.idx<b, s, e, ?>>

!gain = tensor<8192xbf16, #tpsp.idx<d>>
!wq   = tensor<8x8x128x8192xbf16, #tpsp.idx<h@tp, r, k, d>>
!wkv  = tensor<8x128x8192xbf16, #tpsp.idx<h@tp, k, d>>
!wo   = tensor<8192x8x8x128xbf16, #tpsp.idx<d, h@tp, r, k>>
!wup  = tensor<28672x8192xbf16, #tpsp.idx<e@tp, d>>
!wdn  = tensor<8192x28672xbf16, #tpsp.idx<d, e@tp>>

func.func @layer(
    %x: !x {tpsp.name = "x"},
    %attn_gain: !gain {tpsp.param = "attention_norm"},
    %wq: !wq {tpsp.param = "wq"}, %wk: !wkv {tpsp.param = "wk"},
    %wv: !wkv {tpsp.param = "wv"}, %wo: !wo {tpsp.param = "wo"},
    %ffn_gain: !gain {tpsp.param = "ffn_norm"},
    %w1: !wup {tpsp.param = "w1"}, %w3: !wup {tpsp.param = "w3"},
    %w2: !wdn {tpsp.param = "w2"}) -> !x {
  // Attention.
  %xn = tpsp.rms_norm %x, %attn_gain : (!x, !gain) -> !x_
  %q0 = tpsp.einsum %wq, %xn : (!wq, !x_) -> !q
  %k0 = tpsp.einsum %wk, %xn : (!wkv, !x_) -> !kv
  %v0 = tpsp.einsum %wv, %xn : (!wkv, !x_) -> !kv
  %q  = tpsp.rope %q0 {position = "s", feature = "k", theta = 500000.0} : !q
  %k1 = tpsp.rope %k0 {position = "s", feature = "k", theta = 500000.0} : !kv
  %k  = tpsp.rename %k1 : !kv -> !past
  %v  = tpsp.rename %v0 : !kv -> !past
  %o  = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
          scale = 0.08838834764831845, causal} : (!q, !past, !past) -> !q
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
