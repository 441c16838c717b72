// GPT-2 small, whole: 12 layers of width d 768, 12 heads h of k 64, GELU e 3072,
// sequences of 1024, 8 a step, 50257 tokens v, learned positions p, and a head
// that is the table; 124.4 million parameters. Data parallel over dp, tensor and
// sequence parallel over tp; no axis divides the vocabulary, which is odd.
//
//   tpsp-run examples/gpt2-small.mlir --grad --optimizer adamw --clip 1 --dtype bf16 --simulate --hardware h100-sxm
//   tpsp-train examples/gpt2-small.mlir --data train.bin --batch 4 --steps 1000

tpsp.program <b = 8, s = 1024, t = s, d = 768, h = 12, k = 64, e = 3072, v = 50257, p = 1024> {
mesh @mesh <dp = 2 : data, tp = 1 : model>

func private @layer(%x: [b@dp, s@tp, d], param %ln1_gain "ln_1.weight", %ln1_bias "ln_1.bias": [d],
    param %wq "attn.wq": [h@tp, k, d], param %bq "attn.bq": [h@tp, k], param %wk "attn.wk": [h@tp, k, d], param %bk "attn.bk": [h@tp, k],
    param %wv "attn.wv": [h@tp, k, d], param %bv "attn.bv": [h@tp, k], param %wo "attn.wo": [d, h@tp, k], param %bo "attn.bo": [d],
    param %ln2_gain "ln_2.weight", %ln2_bias "ln_2.bias": [d], param %w1 "mlp.w1": [e@tp, d], param %b1 "mlp.b1": [e@tp],
    param %w2 "mlp.w2": [d, e@tp], param %b2 "mlp.b2": [d]) -> [b@dp, s@tp, d] {
  // Attention.
  %xn = layer_norm %x, %ln1_gain, %ln1_bias
  %q0 = einsum %wq, %xn -> [b, s, h, k, ?]
  %q  = add %q0, %bq
  %k0 = einsum %wk, %xn -> [b, s, h, k, ?]
  %k1 = add %k0, %bk
  %k  = rename %k1 -> [b, t, h, k, ?]
  %v0 = einsum %wv, %xn -> [b, s, h, k, ?]
  %v1 = add %v0, %bv
  %v  = rename %v1 -> [b, t, h, k, ?]
  %o  = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.125, causal}
  %a0 = einsum %wo, %o -> [b, s, d, ?]
  %a  = add %a0, %bo
  %h  = add %x, %a
  // MLP.
  %hn = layer_norm %h, %ln2_gain, %ln2_bias
  %m0 = einsum %w1, %hn -> [b, s, e, ?]
  %m1 = add %m0, %b1
  %m2 = gelu %m1
  %m3 = einsum %w2, %m2 -> [b, s, d, ?]
  %m  = add %m3, %b2
  %z  = add %h, %m
  return %z
}

func @model(%tokens: i32[b@dp, s] {tpsp.data = "tokens"}, %targets: i32[b@dp, s] {tpsp.data = "next_tokens"},
    %positions: i32[s] {tpsp.data = "positions"}, param %wte: [v, d], param %wpe: [p, d],
    param %gain "ln_f.weight", %bias "ln_f.bias": [d]) -> ([] {tpsp.name = "loss"}) {
  %e  = embedding %tokens, %wte {vocabulary = "v"}
  %p  = embedding %positions, %wpe {vocabulary = "p"}
  %x0 = add %e, %p
  %x  = repeat 12 @layer(%x0) as "h.#.*"
  %xn = layer_norm %x, %gain, %bias
  %logits = einsum %wte, %xn -> [b, s, v, ?]
  %token  = cross_entropy %logits, %targets {over = "v"}
  %loss   = mean %token -> []
  return %loss
}
}
