// The MLP of a transformer under tensor parallelism: activations
// between blocks are replicated, weights sharded along the hidden index.
//
//   tpsp-run examples/mlp-tp.mlir --grad --verify

tpsp.program <b = 2, s = 128, d = 256, e = 1024> {
mesh @mesh <tp = 4 : model>

func @mlp(%x: [b, s, d], param %w0: [e@tp, d], param %w1: [d, e@tp]) -> [b, s, d] {
  %y = einsum %w0, %x -> [b, s, e, ?]
  %v = gelu %y
  %z = einsum %w1, %v -> [b, s, d]
  return %z
}
}
