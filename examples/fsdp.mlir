// Fully sharded data parallelism: the batch divided over fsdp, and the matrices
// too. A rank multiplies its rows of the batch by the whole matrix: an all-gather
// of each matrix, forward and again backward, and a reduce-scatter of its
// gradient. Gains and biases stay whole: their gradients share one
// all-reduce.
//
//   tpsp-run examples/fsdp.mlir --grad --verify

tpsp.program <b = 8, s = 64, t = s, d = 128, h = 8, k = 16, e = 512> {
mesh @mesh <fsdp = 4 : data>

func private @layer(%x: [b@fsdp, s, d], param %gain1: [d], param %wq, %wk, %wv: [h@fsdp, k, d],
    param %wo: [d, h@fsdp, k], param %gain2: [d], param %w1: [e@fsdp, d],
    param %b1: [e], param %w2: [d, e@fsdp], param %b2: [d]) -> [b@fsdp, s, d] {
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

func @model(%x: [b@fsdp, s, d]) -> [b@fsdp, s, d] {
  %y = repeat 2 @layer(%x) as "layer#.*"
  return %y
}
}
