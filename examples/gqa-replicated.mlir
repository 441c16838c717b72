// Grouped-query attention with fewer key/value heads than ranks: 8 query heads in
// g 2 groups of r 4, on 4 ranks. The groups are on kv, a group's query heads on
// rep, so that key/value heads are replicated over rep. Nothing says so but the
// subscripts that %wk and %wv lack; their gradients are sums over r, which rep divides.
//
//   tpsp-run examples/gqa-replicated.mlir --grad --verify

tpsp.program <b = 8, s = 64, t = s, d = 128, g = 2, r = 4, k = 16, e = 512> {
mesh @mesh <kv = 2 : model, rep = 2 : model>

func private @layer(%x: [b, s, d], param %gain1: [d], param %wq: [g@kv, r@rep, k, d], param %wk, %wv: [g@kv, k, d],
    param %wo: [d, g@kv, r@rep, k], param %gain2: [d], param %w1: [e@kv@rep, d],
    param %b1: [e@kv@rep], param %w2: [d, e@kv@rep], param %b2: [d]) -> [b, s, d] {
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
