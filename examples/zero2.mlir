// ZeRO-2: the batch divided over dp, and so are the matrices as the optimizer
// has them. A reshard gathers each matrix once a step, for both passes; its
// gradient is a sum over dp, wanted where the matrix is: a reduce-scatter. As
// many bytes as data parallelism. Gains and biases stay whole.
//
//   tpsp-run examples/zero2.mlir --grad --verify

tpsp.program <b = 8, s = 64, t = s, d = 128, h = 8, k = 16, e = 512> {
mesh @mesh <dp = 4 : data>

func private @layer(%x: [b@dp, s, d], param %gain1: [d], param %wq_s "wq", %wk_s "wk", %wv_s "wv": [h@dp, k, d],
    param %wo_s "wo": [d, h@dp, k], param %gain2: [d], param %w1_s "w1": [e@dp, d],
    param %b1: [e], param %w2_s "w2": [d, e@dp], param %b2: [d]) -> [b@dp, s, d] {
  // Gathered once, for both passes.
  %wq = reshard %wq_s -> [h, k, d]
  %wk = reshard %wk_s -> [h, k, d]
  %wv = reshard %wv_s -> [h, k, d]
  %wo = reshard %wo_s -> [d, h, k]
  %w1 = reshard %w1_s -> [e, d]
  %w2 = reshard %w2_s -> [d, e]
  // Attention.
  %xn = rms_norm %x, %gain1
  %q  = einsum %wq, %xn -> [b, s, h, k, ?]
  %k0 = einsum %wk, %xn -> [b, s, h, k, ?]
  %k  = rename %k0 -> [b, t, h, k, ?]
  %v0 = einsum %wv, %xn -> [b, s, h, k, ?]
  %v  = rename %v0 -> [b, t, h, k, ?]
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

func @model(%x: [b@dp, s, d]) -> [b@dp, s, d] {
  %y = repeat 2 @layer(%x) as "layer#.*"
  return %y
}
}
