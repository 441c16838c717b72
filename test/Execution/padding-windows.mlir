// Padding adds queries beyond the last key. Under a window they see no key: their
// rows are zeros, and no gradient has anything of them.
// REQUIRES: tpsp-run
// DEFINE: %{run} = tpsp-run %s --grad --verify --quiet
// RUN: %{run} --mesh tp=1 --pad s=12
// RUN: %{run} --mesh tp=4 --pad s=4
// RUN: %{run} --mesh tp=4 --pad s=8 --attention fused --optimizer adamw --steps 2
// RUN: %{run} --mesh tp=3 --pad s=3 --dtype bf16 --rematerialize full

tpsp.program <b = 2, s = 7, t = 7, g = 3, k = 5> {
mesh @mesh <tp = 1 : model>
func @f(%q: [b, s@tp, g, k], %k: [b, t, g, k], %v: [b, t, g, k], param %w: [g, k]) -> [b, s@tp, g, k] {
  %u = mul %v, %w
  %o = attention %q, %k, %u {query = "s", key = "t", feature = "k", scale = 0.4, causal, window = 2} -> [b, s@tp, g, k]
  %z = tanh %o
  return %z
}
}
