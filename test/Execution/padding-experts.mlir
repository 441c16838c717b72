// Padded experts, slots and hidden indices: no token gets an expert or a slot
// that the program does not have.
// REQUIRES: tpsp-run

// DEFINE: %{run} = tpsp-run %s --grad --verify --quiet
// RUN: %{run} --mesh tp=2 --pad x=2
// RUN: %{run} --mesh tp=4 --pad x=4 --optimizer adamw
// RUN: %{run} --mesh tp=8 --pad x=8,c=3,f=4
// RUN: %{run} --pad c=4
// RUN: %{run} --pad b=4,d=3

// The order in which tokens find slots is that of their positions.
// RUN: not %{run} --pad s=4 2>&1 | FileCheck %s --check-prefix=TOKENS
// TOKENS: padding-experts.mlir:{{.*}}: error: index 's' is padded to 8 positions, with which 'tpsp.count_earlier' is not exact: integers behind the end would come before others; leave 's' out of --pad, or give it an extent that its axes divide
// RUN: not %{run} --pad j=3 2>&1 | FileCheck %s --check-prefix=CHOICES
// CHOICES: error: index 'j' is padded to 3 positions, with which 'tpsp.router' is not exact: there would be more choices
tpsp.program <b = 2, s = 6, d = 4, x = 5, j = 2, c = 2, f = 6> {
mesh @mesh <tp = 1 : model>
func @model(%h: [b, s, d], param %wr: [x, d], param %w1: [x@tp, f, d], param %w2: [x@tp, d, f]) -> ([b, s, d] {tpsp.name = "y"}) {
  %r = einsum %wr, %h -> [b, s, x, ?]
  %probs = softmax %r {over = "x"}
  %ids = router %r {expert = "x", choice = "j"}
  %weights = one_hot_einsum %ids, %probs {indices = ["x"]} -> [b, s, j, ?]
  %in = dispatch %ids, %h {expert = "x", slot = "c", choice = "j"} -> [b, x@tp, c, d]
  %m0 = einsum %w1, %in -> [b, x@tp, c, f]
  %m1 = sigmoid %m0
  %out = einsum %w2, %m1 -> [b, x@tp, c, d]
  %y = combine %ids, %weights, %out {expert = "x", slot = "c", choice = "j"} -> [b, s, d]
  return %y
}
}
