// ViT-L/16, whole: 24 layers of width d 1024, 16 heads h of k 64, exact GELU
// e 4096, images of s 196 patches of c 768 numbers, 64 a step, learned positions,
// and a head of 1000 classes v over the mean of the patches; 304.3 million
// parameters. Patches are given as they are cut. Data parallel over dp, tensor
// parallel over tp.
//
//   tpsp-run benchmarks/pytorch/models/vit-l.mlir --grad --optimizer adamw --clip 1 --dtype bf16 --simulate --hardware h100-sxm

tpsp.program <b = 64, s = 196, t = s, c = 768, d = 1024, h = 16, k = 64, e = 4096, v = 1000> {
mesh @mesh <dp = 1 : data, tp = 1 : model>

func private @layer(%x: [b@dp, s, d], param %ln1_gain "ln_1.weight", %ln1_bias "ln_1.bias": [d],
    param %wq "attn.wq": [h@tp, k, d], param %bq "attn.bq": [h@tp, k], param %wk "attn.wk": [h@tp, k, d], param %bk "attn.bk": [h@tp, k],
    param %wv "attn.wv": [h@tp, k, d], param %bv "attn.bv": [h@tp, k], param %wo "attn.wo": [d, h@tp, k], param %bo "attn.bo": [d],
    param %ln2_gain "ln_2.weight", %ln2_bias "ln_2.bias": [d], param %w1 "mlp.w1": [e@tp, d], param %b1 "mlp.b1": [e@tp],
    param %w2 "mlp.w2": [d, e@tp], param %b2 "mlp.b2": [d]) -> [b@dp, s, d] {
  // Attention.
  %xn = layer_norm %x, %ln1_gain, %ln1_bias {eps = 1e-6}
  %q0 = einsum %wq, %xn -> [b, s, h, k, ?]
  %q  = add %q0, %bq
  %k0 = einsum %wk, %xn -> [b, s, h, k, ?]
  %k1 = add %k0, %bk
  %k  = rename %k1 -> [b, t, h, k, ?]
  %v0 = einsum %wv, %xn -> [b, s, h, k, ?]
  %v1 = add %v0, %bv
  %v  = rename %v1 -> [b, t, h, k, ?]
  %o  = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.125}
  %a0 = einsum %wo, %o -> [b, s, d, ?]
  %a  = add %a0, %bo
  %h  = add %x, %a
  // MLP.
  %hn = layer_norm %h, %ln2_gain, %ln2_bias {eps = 1e-6}
  %m0 = einsum %w1, %hn -> [b, s, e, ?]
  %m1 = add %m0, %b1
  %m2 = gelu_erf %m1
  %m3 = einsum %w2, %m2 -> [b, s, d, ?]
  %m  = add %m3, %b2
  %z  = add %h, %m
  return %z
}

func @model(%patches: [b@dp, s, c] {tpsp.frozen}, %labels: i32[b@dp], param %patch "patch.weight": [d, c],
    param %patch_bias "patch.bias": [d], param %position "position": [s, d], param %gain "ln_f.weight", %bias "ln_f.bias": [d],
    param %head "head.weight": [v, d], param %head_bias "head.bias": [v]) -> ([] {tpsp.name = "loss"}) {
  %e0 = einsum %patch, %patches -> [b, s, d, ?]
  %x0 = add %e0, %patch_bias, %position
  %x  = repeat 24 @layer(%x0) as "h.#.*"
  %xn = layer_norm %x, %gain, %bias {eps = 1e-6}
  %y  = mean %xn -> [b, d, ?]
  %logits0 = einsum %head, %y -> [b, v, ?]
  %logits  = add %logits0, %head_bias
  %each = cross_entropy %logits, %labels {over = "v"}
  %loss = mean %each -> []
  return %loss
}
}
