// A GPT block with dropout (of the attention's weights, and of what each half
// adds to the residual) under tensor and sequence parallelism. Masks follow from
// a seed and an element's global position, so they are the same on every mesh,
// and are drawn again in the backward pass unless they are kept.
//
//   tpsp-opt examples/gpt-block-dropout.mlir --tpsp-explain="rematerialize=selective"
//   tpsp-run examples/gpt-block-dropout.mlir --grad --verify --rematerialize full
//   tpsp-run examples/gpt-block-dropout.mlir --grad --verify --keep-masks

tpsp.program <b = 2, s = 128, t = s, d = 256, h = 8, k = 32, e = 1024> {
mesh @mesh <tp = 4 : model>

func @block(%x: [b, s@tp, d], param %ln1_gain "ln1.gain", %ln1_bias "ln1.bias": [d],
    param %wq: [h@tp, k, d], param %bq: [h@tp, k], param %wk: [h@tp, k, d], param %bk: [h@tp, k],
    param %wv: [h@tp, k, d], param %bv: [h@tp, k], param %wo: [d, h@tp, k], param %bo: [d],
    param %ln2_gain "ln2.gain", %ln2_bias "ln2.bias": [d], param %w1: [e@tp, d], param %b1: [e@tp],
    param %w2: [d, e@tp], param %b2: [d]) -> [b, s@tp, d] {
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
  %o  = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.17677669529663687, causal, dropout = 0.1, seed = 1}
  %a0 = einsum %wo, %o -> [b, s, d, ?]
  %a1 = add %a0, %bo
  %a  = dropout %a1 {rate = 0.1, seed = 2}
  %h  = add %x, %a
  // MLP.
  %hn = layer_norm %h, %ln2_gain, %ln2_bias
  %m0 = einsum %w1, %hn -> [b, s, e, ?]
  %m1 = add %m0, %b1
  %m2 = gelu %m1
  %m3 = einsum %w2, %m2 -> [b, s, d, ?]
  %m4 = add %m3, %b2
  %m  = dropout %m4 {rate = 0.1, seed = 3}
  %z  = add %h, %m
  return %z
}
}
