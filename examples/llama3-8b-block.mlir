// One layer of Llama-3.1 8B at its true widths, under tensor and sequence
// parallelism: hidden d 4096, 32 query heads of k 128 in h 8 groups of r 4 that
// share a key/value head, SwiGLU e 14336, RMS norm, rotary embeddings
// (theta 500000), causal attention. Batch 1, sequence 512.
//
//   tpsp-run examples/llama3-8b-block.mlir --grad --steps 3 --verify

tpsp.program <b = 1, s = 512, t = s, d = 4096, h = 8, r = 4, k = 128, e = 14336> {
mesh @mesh <tp = 4 : model>

func @layer(%x: [b, s@tp, d], param %attention_gain "attention_norm": [d], param %wq: [h@tp, r, k, d],
    param %wk, %wv: [h@tp, k, d], param %wo: [d, h@tp, r, k], param %ffn_gain "ffn_norm": [d],
    param %w1, %w3: [e@tp, d], param %w2: [d, e@tp]) -> [b, s@tp, d] {
  // Attention.
  %xn = rms_norm %x, %attention_gain
  %q0 = einsum %wq, %xn -> [b, s, h, r, k, ?]
  %k0 = einsum %wk, %xn -> [b, s, h, k, ?]
  %v0 = einsum %wv, %xn -> [b, s, h, k, ?]
  %q  = rope %q0 {position = "s", feature = "k", theta = 500000}
  %k1 = rope %k0 {position = "s", feature = "k", theta = 500000}
  %k  = rename %k1 -> [b, t, h, k, ?]
  %v  = rename %v0 -> [b, t, h, k, ?]
  %o  = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.08838834764831845, causal}
  %a  = einsum %wo, %o -> [b, s, d, ?]
  %h  = add %x, %a
  // SwiGLU.
  %hn = rms_norm %h, %ffn_gain
  %g  = einsum %w1, %hn -> [b, s, e, ?]
  %gs = silu %g
  %u  = einsum %w3, %hn -> [b, s, e, ?]
  %m  = mul %gs, %u
  %f  = einsum %w2, %m -> [b, s, d, ?]
  %z  = add %h, %f
  return %z
}
}
