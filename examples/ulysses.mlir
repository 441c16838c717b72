// Ulysses: as examples/cp-attention.mlir, but attention divides heads and not
// queries. Queries, keys, values and results are exchanged by all-to-alls.
//
//   tpsp-run examples/ulysses.mlir --grad --verify

tpsp.program <b = 8, s = 64, t = s, d = 128, h = 8, k = 16, e = 512> {
mesh @mesh <cp = 4 : data>

func private @layer(%x: [b, s@cp, d], param %gain1: [d], param %wq, %wk, %wv: [h, k, d],
    param %wo: [d, h, k], param %gain2: [d], param %w1: [e, d],
    param %b1: [e], param %w2: [d, e], param %b2: [d]) -> [b, s@cp, d] {
  // Attention.
  %xn = rms_norm %x, %gain1
  %q  = einsum %wq, %xn -> [b, s, h@cp, k]
  %k0 = einsum %wk, %xn -> [b, s, h, k, ?]
  %k  = rename %k0 -> [b, t, h@cp, k]
  %v0 = einsum %wv, %xn -> [b, s, h, k, ?]
  %v  = rename %v0 -> [b, t, h@cp, k]
  %o  = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.25, causal} -> [b, s, h@cp, k]
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

func @model(%x: [b, s@cp, d]) -> [b, s@cp, d] {
  %y = repeat 2 @layer(%x) as "layer#.*"
  return %y
}
}
