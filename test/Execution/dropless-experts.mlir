// Experts in blocks with rows for each block: with enough rows, and with too few;
// with one choice and two; odd extents, one expert a block, and one block.
// REQUIRES: tpsp-run

// RUN: tpsp-run %s --grad --verify --quiet
// RUN: tpsp-run %s --grad --verify --quiet --mesh tp=3
// RUN: tpsp-run %s --grad --verify --quiet --mesh ep=2
// RUN: tpsp-run %s --grad --verify --quiet --mesh ep=4
// RUN: tpsp-run %s --grad --verify --quiet --mesh ep=2,tp=3
// RUN: tpsp-run %s --grad --verify --quiet --mesh dp=3,ep=2
// RUN: tpsp-run %s --grad --verify --quiet --mesh ep=2,tp=3 --dtype bf16
// RUN: tpsp-run %s --grad --verify --quiet --mesh ep=4 --rematerialize full

// Nothing overflows.
// RUN: tpsp-run %s --grad --verify --quiet --extent c=14
// RUN: tpsp-run %s --grad --verify --quiet --extent c=14 --mesh ep=4,tp=3
// Almost everything does.
// RUN: tpsp-run %s --grad --verify --quiet --extent c=1 --mesh ep=4
// One block, and one expert a block.
// RUN: tpsp-run %s --grad --verify --quiet --extent j=1,i=12,c=14 --mesh tp=3
// RUN: tpsp-run %s --grad --verify --quiet --extent j=12,i=1 --mesh ep=4
// One choice.
// RUN: tpsp-run %s --grad --verify --quiet --extent k=1
// RUN: tpsp-run %s --grad --verify --quiet --extent k=1 --mesh ep=4,tp=3
tpsp.program <g = 12, s = 7, d = 6, j = 4, i = 3, e = 12, f = 9, k = 2, c = 4> {
mesh @mesh <dp = 1 : data, ep = 1 : model, tp = 1 : model>

func @model(%x: [g@dp@ep, s, d], param %gate: [e, d], param %up: [e@ep, f@tp, d],
            param %down: [e@ep, d, f@tp]) -> ([g@dp@ep, s, d] {tpsp.name = "z"}) {
  %score  = einsum %gate, %x -> [g, s, e, ?]
  %choice = router %score {expert = "e", choice = "k"}
  %best   = one_hot_einsum %choice, %score {indices = ["e"]} -> [g, s, k, ?]
  %weight = softmax %best {over = "k"}
  %load   = count_values %choice {over = ["s", "k"], of = ["j", "i"]}
  %expert = runs %load {of = "i", along = "c"} -> [j@ep, g@dp, c]
  %y  = dispatch %choice, %load, %x {expert = "i", slot = "c", choice = "k"} -> [j@ep, g@dp, c, d]
  %w1 = split %up -> [j, i, f, d, ?]
  %u  = one_hot_einsum %expert, %w1, %y {indices = ["i"]} -> [j, g, c, f, ?]
  %a  = silu %u
  %w2 = split %down -> [j, i, d, f, ?]
  %v  = one_hot_einsum %expert, %w2, %a {indices = ["i"]} -> [j, g, c, d, ?]
  %z  = combine %choice, %load, %weight, %v {expert = "i", slot = "c", choice = "k"} -> [g, s, d, ?]
  return %z
}
}
