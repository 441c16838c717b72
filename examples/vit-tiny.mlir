// A small vision transformer: images of 32 x 32 in 8 x 8 patches of 4 x 4 pixels,
// 4 layers of width d 64, 4 heads of k 16, 10 classes; 0.2 million parameters.
// Data parallel over dp, tensor parallel over tp. Images and labels come from
// files of samples; a label below 0 does not count.
//
//   tpsp-train examples/vit-tiny.mlir --data images=images.npy --data labels=labels.npy
//   tpsp-run examples/vit-tiny.mlir --grad --verify

tpsp.program <b = 12, c = 3, y = 32, x = 32, i = 8, p = 4, j = i, q = p, s = 64, t = s, d = 64, h = 4, k = 16, e = 256, v = 10> {
mesh @mesh <dp = 2 : data, tp = 1 : model>

func private @layer(%x: [b@dp, s, d], param %g1, %b1: [d], param %wq, %wk, %wv: [h@tp, k, d],
    param %wo: [d, h@tp, k], param %g2, %b2: [d], param %w1: [e@tp, d], param %w2: [d, e@tp]) -> [b@dp, s, d] {
  %xn = layer_norm %x, %g1, %b1
  %qs = einsum %wq, %xn -> [b, s, h, k, ?]
  %k0 = einsum %wk, %xn -> [b, s, h, k, ?]
  %ks = rename %k0 -> [b, t, h, k, ?]
  %v0 = einsum %wv, %xn -> [b, s, h, k, ?]
  %vs = rename %v0 -> [b, t, h, k, ?]
  %o  = attention %qs, %ks, %vs {query = "s", key = "t", feature = "k", scale = 0.25}
  %a  = einsum %wo, %o -> [b, s, d, ?]
  %h  = add %x, %a
  %hn = layer_norm %h, %g2, %b2
  %u  = einsum %w1, %hn -> [b, s, e, ?]
  %g  = gelu %u
  %m  = einsum %w2, %g -> [b, s, d, ?]
  %z  = add %h, %m
  return %z
}

func @model(%images: [b@dp, c, y, x], %labels: i32[b@dp], param %patch: [d, c, p, q],
    param %positions: [s, d], param %gain, %bias: [d], param %head: [v, d]) -> [] {
  %tiles  = split %images -> [b, c, i, p, j, q, ?]
  %rows   = einsum %patch, %tiles -> [b, i, j, d, ?]
  %merged = merge %rows -> [b, s, d, ?]
  %x0     = add %merged, %positions
  %x      = repeat 4 @layer(%x0) as "layers.#.*"
  %xn     = layer_norm %x, %gain, %bias
  %pooled = mean %xn -> [b, d, ?]
  %logits = einsum %head, %pooled -> [b, v, ?]
  %each   = cross_entropy %logits, %labels {over = "v"}
  %loss   = mean %each, %labels -> []
  return %loss
}
}
