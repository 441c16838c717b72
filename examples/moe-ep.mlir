// Two mixture-of-experts layers under expert parallelism: tokens are sharded in
// groups (g), experts (e) over the same axis, and each expert's hidden index (f)
// over tp. Every expert has c slots for the tokens of a group; what finds none
// is dropped. Which tokens go where does not depend on the mesh.
//
//   tpsp-run examples/moe-ep.mlir --grad --verify
//   tpsp-run examples/moe-ep.mlir --mesh ep=4,tp=1 --grad --verify

tpsp.program <g = 8, s = 32, d = 128, e = 8, f = 256, k = 2, c = 12> {
mesh @mesh <ep = 2 : model, tp = 2 : model>

func private @layer(%x: [g@ep, s, d], param %gain: [d], param %gate: [e, d],
    param %up: [e@ep, f@tp, d], param %down: [e@ep, d, f@tp]) -> [g@ep, s, d] {
  %n = rms_norm %x, %gain
  // Router: the two experts with the highest scores, weighted by a softmax.
  %score  = einsum %gate, %n -> [g, s, e, ?]
  %choice = router %score {expert = "e", choice = "k"}
  %best   = one_hot_einsum %choice, %score {indices = ["e"]} -> [g, s, k, ?]
  %weight = softmax %best {over = "k"}
  // Tokens to experts, experts, and back.
  %y = dispatch %choice, %n {expert = "e", slot = "c", choice = "k"} -> [e@ep, g, c, d]
  %u = einsum %up, %y -> [e, g, c, f, ?]
  %a = silu %u
  %v = einsum %down, %a -> [e, g, c, d, ?]
  %m = combine %choice, %weight, %v {expert = "e", slot = "c", choice = "k"} -> [g, s, d, ?]
  %z = add %x, %m
  return %z
}

func @model(%x: [g@ep, s, d]) -> [g@ep, s, d] {
  %y = repeat 2 @layer(%x) as "*#"
  return %y
}
}
