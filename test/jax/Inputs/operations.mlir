// Operations and variants that no example has, on odd, prime and 1 extents and
// a mesh of three axes. test/jax/stablehlo.py compares them.
tpsp.program <b = 2, s = 6, t = s, d = 8, e = 5, v = 7, p = 3, q = 2, r = 5, w = 9, n = 2, o = 1, h = 2, k = 4, x = 4, c = 3, u = 2> {
mesh @mesh <dp = 2 : data, cp = 2 : data, tp = 2 : model>

func @model(%x: [b@dp, s@cp, d@tp], %y: [b, s@cp, d@tp], param %m: [e, d@tp, o], param %table: [v, d@cp],
    %ids: i32[b@dp, s] {tpsp.below = 9}, %doc, %key: i32[b, s@cp] {tpsp.below = 3}, param %gain, %bias: [d@tp])
    -> ([b@dp, s, d@tp], [s@cp, b, e], [b, s, d@tp], [b, w, d@tp], [b, s, d@tp], [b, s@cp, t], [x, b@dp, c, d], [b@dp, n, d@cp], [b@dp, s@tp, v]) {
  // Element by element.
  %clamped = clamp %x {low = -0.5, high = 0.75}
  %larger  = max %x, %y
  %which   = compare %x, %y {is = "less_equal"}
  %chosen  = select %which, %clamped, %larger
  %shifted = shift %chosen {by = 1.5}
  %ratio   = div %x, %shifted
  %erf     = gelu_erf %ratio
  %far     = iota {index = "s"} -> [b, s, d, ?]
  %points  = scale %far {factor = 0.25}
  %waves   = cos %points
  %one     = add %erf, %waves -> [b@dp, s, d@tp]
  // A new order, and a sum over an extent of 1.
  %single  = reduce %m {kind = "sum"} -> [e, d, ?]
  %summed  = einsum %single, %x -> [s@cp, b, e]
  // Sequences, along an index that is on an axis and one that is not.
  %decay   = sigmoid %y
  %state   = scan %x, %decay {index = "s"}
  %back    = scan %y, %decay {index = "d", reverse}
  %totals  = cumsum %x {index = "d", reverse}
  %ahead   = delay %x {index = "s", by = -5}
  %beyond  = delay %x {index = "s", by = 9}
  %late    = delay %y {index = "s", by = 2}
  %sums    = add %state, %back, %totals, %ahead, %beyond, %late -> [b, s, d@tp]
  // Runs of positions.
  %head    = cut %x {index = "s", from = 1} -> [b, p, d, ?]
  %tail    = cut %y {index = "s", from = 4} -> [b, q, d, ?]
  %joined  = concat %tail, %head {index = "r"} -> [b, r, d, ?]
  %wider   = pad %joined {index = "w", before = 3, value = -2.5} -> [b, w, d@tp]
  // Norms along an index that is on an axis.
  %normal  = layer_norm %x, %gain, %bias
  %turned  = rope %normal {position = "s", feature = "d", theta = 100} -> [b, s, d@tp]
  // Attention that masks by documents and by a window.
  %qs      = split %x -> [b, s, h, k, ?]
  %ys      = split %y -> [b, s, h, k, ?]
  %ks      = rename %ys -> [b, t, h, k, ?]
  %own     = rename %key -> i32[b, t, ?]
  %seen    = attention %qs, %ks, %ks, %doc, %own {query = "s", key = "t", feature = "k", causal, window = 4, softcap = 3.0}
  %merged  = merge %seen -> [b, s, d, ?]
  %whole   = rename %merged -> [b, t, d, ?]
  %scores  = einsum %x, %whole -> [b, s@cp, t]
  // Routing: choices, slots, and lookups with integers that are no position.
  %rows    = embedding %ids, %table {vocabulary = "v"}
  %logits  = einsum %rows, %table -> [b, s, v, ?]
  %four    = cut %logits {index = "v", from = 2} -> [b, s, x, ?]
  %choice  = router %four {expert = "x", choice = "u"}
  %sent    = dispatch %choice, %rows {expert = "x", slot = "c", choice = "u"} -> [x, b@dp, c, d]
  %late0   = take %rows {index = "s", at = 5}
  %early   = take %rows {index = "s", at = 0}
  %ends    = stack %late0, %early {index = "n"} -> [b@dp, n, d@cp]
  %peak    = reduce %logits {kind = "max"} -> [b, s, ?]
  %level   = stop_gradient %peak
  %below   = sub %logits, %level -> [b@dp, s@tp, v]
  return %one, %summed, %sums, %wider, %turned, %scores, %sent, %ends, %below
}
}
