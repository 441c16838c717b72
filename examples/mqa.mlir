// Multi-query attention under tensor parallelism: examples/gqa-replicated.mlir
// with one key/value head, which every rank has; the 8 query heads on rep.
//
//   tpsp-run examples/mqa.mlir --grad --verify

tpsp.program <b = 8, s = 64, t = s, d = 128, g = 1, r = 8, k = 16, e = 512> {
mesh @mesh <rep = 4 : model>

func private @layer(%x: [b, s, d], param %gain1: [d], param %wq: [g, r@rep, k, d], param %wk, %wv: [g, k, d],
    param %wo: [d, g, r@rep, k], param %gain2: [d], param %w1: [e@rep, d],
    param %b1: [e@rep], param %w2: [d, e@rep], param %b2: [d]) -> [b, s, d] {
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
