// Grouped-query attention under tensor parallelism: 16 query heads in g 8 groups
// of r 2 that share a key/value head. There are heads enough for every rank of tp,
// so attention is tensor parallelism as in examples/tp.mlir, no more.
//
//   tpsp-run examples/gqa.mlir --grad --verify

tpsp.program <b = 8, s = 64, t = s, d = 128, g = 8, r = 2, k = 16, e = 512> {
mesh @mesh <tp = 4 : model>

func private @layer(%x: [b, s, d], param %gain1: [d], param %wq: [g@tp, r, k, d], param %wk, %wv: [g@tp, k, d],
    param %wo: [d, g@tp, r, k], param %gain2: [d], param %w1: [e@tp, d],
    param %b1: [e@tp], param %w2: [d, e@tp], param %b2: [d]) -> [b, s, d] {
  // Attention.
  %xn = rms_norm %x, %gain1
  %q  = einsum %wq, %xn -> [b, s, g, r, k, ?]
  %k0 = einsum %wk, %xn -> [b, s, g, k, ?]
  %k  = rename %k0 -> [b, t, g, k, ?]
  %v0 = einsum %wv, %xn -> [b, s, g, k, ?]
  %v  = rename %v0 -> [b, t, g, k, ?]
  %o  = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.25, causal}
  %a  = einsum %wo, %o -> [b, s, d, ?]
  %h  = add %x, %a
  // MLP.
  %hn = rms_norm %h, %gain2
  %m0 = einsum %w1, %hn -> [b, s, e, ?]
  %m1 = add %m0, %b1
  %m2 = gelu %m1
  %m3 = einsum %w2, %m2 -> [b, s, d, ?]
  %m  = add %m3, %b2
  %z  = add %h, %m
  return %z
}

func @model(%x: [b, s, d]) -> [b, s, d] {
  %y = repeat 2 @layer(%x) as "layer#.*"
  return %y
}
}
