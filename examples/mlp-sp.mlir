// The MLP of a transformer under tensor and sequence parallelism: activations
// between blocks are sharded along the sequence, weights along the hidden index.
//
//   tpsp-run examples/mlp-sp.mlir --grad --verify

tpsp.program <b = 2, s = 128, d = 256, e = 1024> {
mesh @mesh <tp = 4 : model>

func @mlp(%x: [b, s@tp, d], param %w0: [e@tp, d], param %w1: [d, e@tp]) -> [b, s@tp, d] {
  %y = einsum %w0, %x -> [b, s, e, ?]
  %v = gelu %y
  %z = einsum %w1, %v -> [b, s@tp, d]
  return %z
}
}
