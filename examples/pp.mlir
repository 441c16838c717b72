// A pipeline of two stages, each with tensor and sequence parallelism over two
// ranks: a small Llama of 4 layers. pp divides the layers, and no tensor. Stage
// 0 has the embedding and the first two layers, stage 1 the others and the loss.
//
//   tpsp-run examples/pp.mlir --grad --micro-batches 4 --verify
//   tpsp-run examples/pp.mlir --grad --micro-batches 8 --mesh pp=4,tp=1

tpsp.program <b = 8, s = 16, t = s, d = 64, h = 4, k = 16, e = 128, v = 96> {
mesh @mesh <pp = 2 : stage, tp = 2 : model>

func private @layer(%x: [b, s@tp, d], param %attention_gain: [d], param %wq, %wk, %wv: [h@tp, k, d],
    param %wo: [d, h@tp, k], param %ffn_gain: [d], param %w1, %w3: [e@tp, d], param %w2: [d, e@tp]) -> [b, s@tp, d] {
  // Attention.
  %xn = rms_norm %x, %attention_gain
  %q0 = einsum %wq, %xn -> [b, s, h, k, ?]
  %k0 = einsum %wk, %xn -> [b, s, h, k, ?]
  %v0 = einsum %wv, %xn -> [b, s, h, k, ?]
  %q  = rope %q0 {position = "s", feature = "k", theta = 10000}
  %k1 = rope %k0 {position = "s", feature = "k", theta = 10000}
  %k  = rename %k1 -> [b, t, h, k, ?]
  %v  = rename %v0 -> [b, t, h, k, ?]
  %o  = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.25, causal}
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

func @model(%tokens: i32[b, s] {tpsp.data = "tokens"}, %targets: i32[b, s] {tpsp.data = "next_tokens"},
    param %table: [v@tp, d], param %gain: [d], param %head: [v@tp, d]) -> [] {
  %x0 = embedding %tokens, %table {vocabulary = "v"}
  %x  = repeat 4 @layer(%x0) as "layers.#.*"
  %xn = rms_norm %x, %gain
  %logits = einsum %head, %xn -> [b, s, v, ?]
  %token  = cross_entropy %logits, %targets {over = "v"}
  %loss   = mean %token -> []
  return %loss
}
}
