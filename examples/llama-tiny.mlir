// A small Llama that reads bytes: 6 layers of width d 256, 8 query heads of k 32
// in h 4 groups of r 2 that share a key/value head, SwiGLU e 768, sequences of
// 256, 16 a step; 4.9 million parameters. Data parallel over dp, tensor and
// sequence parallel over tp.
//
//   tpsp-train examples/llama-tiny.mlir --data README.md --steps 50
//   tpsp-train examples/llama-tiny.mlir --data README.md --mesh dp=1,tp=2
//   tpsp-run examples/llama-tiny.mlir --grad --verify

tpsp.program <b = 16, s = 256, t = s, d = 256, h = 4, r = 2, k = 32, e = 768, v = 256> {
mesh @mesh <dp = 2 : data, tp = 1 : model>

func private @layer(%x: [b@dp, s@tp, d], param %attention_gain "attention_norm": [d], param %wq: [h@tp, r, k, d],
    param %wk, %wv: [h@tp, k, d], param %wo: [d, h@tp, r, k], param %ffn_gain "ffn_norm": [d],
    param %w1, %w3: [e@tp, d], param %w2: [d, e@tp]) -> [b@dp, s@tp, d] {
  // Attention.
  %xn = rms_norm %x, %attention_gain
  %q0 = einsum %wq, %xn -> [b, s, h, r, k, ?]
  %k0 = einsum %wk, %xn -> [b, s, h, k, ?]
  %v0 = einsum %wv, %xn -> [b, s, h, k, ?]
  %q  = rope %q0 {position = "s", feature = "k", theta = 10000}
  %k1 = rope %k0 {position = "s", feature = "k", theta = 10000}
  %k  = rename %k1 -> [b, t, h, k, ?]
  %v  = rename %v0 -> [b, t, h, k, ?]
  %o  = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.17677669529663687, causal}
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

func @model(%tokens: i32[b@dp, s] {tpsp.data = "tokens"}, %targets: i32[b@dp, s] {tpsp.data = "next_tokens"},
    param %table: [v@tp, d], param %gain "norm": [d], param %head: [v@tp, d]) -> [] {
  %x0 = embedding %tokens, %table {vocabulary = "v"}
  %x  = repeat 6 @layer(%x0) as "layers.#.*"
  %xn = rms_norm %x, %gain
  %logits = einsum %head, %xn -> [b, s, v, ?]
  %token  = cross_entropy %logits, %targets {over = "v"}
  %loss   = mean %token -> []
  return %loss
}
}
