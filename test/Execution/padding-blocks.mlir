// Padded blocks of experts, their rows and their hidden indices.
// REQUIRES: tpsp-run

// DEFINE: %{run} = tpsp-run %s --grad --verify --quiet
// RUN: %{run} --mesh ep=4 --pad e=8,j=4
// RUN: %{run} --mesh ep=2,tp=2 --pad e=8,j=4,f=4
// RUN: %{run} --pad c=5,d=4
// RUN: %{run} --mesh tp=2 --pad g=2,f=2
// RUN: not %{run} --pad i=4 2>&1 | FileCheck %s --check-prefix=EXPERTS
// EXPERTS: error: index 'i' is padded (2 to 4) and is a minor part of a merged index, whose positions would move
// RUN: not %{run} --pad s=4 2>&1 | FileCheck %s --check-prefix=TOKENS
// TOKENS: error: index 's' is padded to 8 positions, with which 'tpsp.count_values' is not exact: integers behind the end would be counted
tpsp.program <g = 3, s = 5, d = 3, e = 6, j = 3, i = 2, c = 4, f = 3, k = 2> {
mesh @mesh <ep = 1 : model, tp = 1 : model>
func @model(%x: [g, s, d], param %gate: [e, d], param %up, %down: [e@ep, f@tp, d]) -> ([g, s, d] {tpsp.name = "z"}) {
  %score  = einsum %gate, %x -> [g, s, e, ?]
  %choice = router %score {expert = "e", choice = "k"}
  %best   = one_hot_einsum %choice, %score {indices = ["e"]} -> [g, s, k, ?]
  %weight = softmax %best {over = "k"}
  %load   = count_values %choice {over = ["s", "k"], of = ["j", "i"]}
  %expert = runs %load {of = "i", along = "c"} -> [j@ep, g, c]
  %y  = dispatch %choice, %load, %x {expert = "i", slot = "c", choice = "k"} -> [j@ep, g, c, d]
  %w1 = split %up -> [j, i, f, d, ?]
  %u  = one_hot_einsum %expert, %w1, %y {indices = ["i"]} -> [j, g, c, f, ?]
  %a  = silu %u
  %w2 = split %down -> [j, i, f, d, ?]
  %v  = one_hot_einsum %expert, %w2, %a {indices = ["i"]} -> [j, g, c, d, ?]
  %z  = combine %choice, %load, %weight, %v {expert = "i", slot = "c", choice = "k"} -> [g, s, d, ?]
  return %z
}
}
