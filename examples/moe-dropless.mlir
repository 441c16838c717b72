// Two mixture-of-experts layers without slots for each expert. Experts (e) lie in
// blocks (j) of i, blocks over the same axis as tokens in groups (g). A block has
// c rows for the tokens of a group, sorted by expert, and every row meets its
// expert's matrix. With c = s * min(k, i) = 64 nothing can be dropped; 24 is 1.5
// times what falls to a block on average.
//
//   tpsp-run examples/moe-dropless.mlir --grad --verify
//   tpsp-run examples/moe-dropless.mlir --mesh ep=4,tp=1 --grad --verify

tpsp.program <g = 8, s = 32, d = 128, j = 4, i = 2, e = 8, f = 256, k = 2, c = 24> {
mesh @mesh <ep = 2 : model, tp = 2 : model>

func private @layer(%x: [g@ep, s, d], param %gain: [d], param %gate: [e, d],
    param %up: [e@ep, f@tp, d], param %down: [e@ep, d, f@tp]) -> [g@ep, s, d] {
  %n = rms_norm %x, %gain
  // Router: the two experts with the highest scores, weighted by a softmax. Each
  // rank chooses for its own tokens: loads are sent to the blocks, not tokens to
  // everybody.
  %score  = einsum %gate, %n -> [g, s, e, ?]
  %choice = router %score {expert = "e", choice = "k"} -> i32[g@ep, s, k]
  %best   = one_hot_einsum %choice, %score {indices = ["e"]} -> [g, s, k, ?]
  %weight = softmax %best {over = "k"}
  // How many tokens have chosen each expert, and so which rows are whose.
  %load   = count_values %choice {over = ["s", "k"], of = ["j", "i"]}
  %expert = runs %load {of = "i", along = "c"} -> [j@ep, g, c]
  // Tokens to the rows of blocks, rows through their experts, and back.
  %y  = dispatch %choice, %load, %n {expert = "i", slot = "c", choice = "k"} -> [j@ep, g, c, d]
  %w1 = split %up -> [j, i, f, d, ?]
  %u  = one_hot_einsum %expert, %w1, %y {indices = ["i"]} -> [j, g, c, f, ?]
  %a  = silu %u
  %w2 = split %down -> [j, i, d, f, ?]
  %v  = one_hot_einsum %expert, %w2, %a {indices = ["i"]} -> [j, g, c, d, ?]
  %m  = combine %choice, %load, %weight, %v {expert = "i", slot = "c", choice = "k"} -> [g, s, d, ?]
  %z  = add %x, %m
  return %z
}

func @model(%x: [g@ep, s, d]) -> [g@ep, s, d] {
  %y = repeat 2 @layer(%x) as "*#"
  return %y
}
}
