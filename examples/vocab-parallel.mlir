// A language model with a vocabulary-parallel embedding, a tied head and a
// cross-entropy loss: the table is sharded along the vocabulary, activations
// along the sequence, and the logits never leave their rank.
//
//   tpsp-run examples/vocab-parallel.mlir --grad --verify

tpsp.program <b = 2, s = 64, v = 512, d = 128, e = 256> {
mesh @mesh <tp = 4 : model>

func private @layer(%x: [b, s@tp, d], param %gain: [d], param %up: [e@tp, d], param %down: [d, e@tp]) -> [b, s@tp, d] {
  %n = rms_norm %x, %gain
  %u = einsum %up, %n -> [b, s, e, ?]
  %a = gelu %u
  %f = einsum %down, %a -> [b, s, d, ?]
  %y = add %x, %f
  return %y
}

func @model(%ids, %targets: i32[b, s], param %table: [v@tp, d], param %gain2: [d]) -> [] {
  %x = embedding %ids, %table {vocabulary = "v"}
  %z = repeat 2 @layer(%x) as "*#"
  %n = rms_norm %z, %gain2
  %logits = einsum %table, %n -> [b, s, v, ?]
  %token  = cross_entropy %logits, %targets {over = "v"}
  %loss   = mean %token -> []
  return %loss
}
}
