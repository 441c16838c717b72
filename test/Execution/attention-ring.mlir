// Attention around a ring: every shard of keys is one call, and calls are merged
// by their statistics. Outputs and gradients equal those of the unsharded program
// in f64.
// REQUIRES: tpsp-run
// RUN: split-file %s %t

// DEFINE: %{run} = tpsp-run --grad --verify --quiet --attention ring

// Whole rows, on a number of ranks that is no power of two.
// RUN: sed 's/, causal//' %t/causal.mlir > %t/whole.mlir
// RUN: %{run} %t/whole.mlir --mesh dp=1,cp=3,tp=1

// Halves of causal shards: an odd number of ranks and padding; a mesh of three
// axes with recomputed micro-batches, where gradients of shared keys are sums
// over the ranks of groups; rounded tensors whose hops overlap.
// RUN: %{run} %t/causal.mlir --mesh dp=1,cp=3,tp=1 --extent s=40 --pad s=12
// RUN: %{run} %t/causal.mlir --mesh dp=2,cp=2,tp=2 --micro-batches 2 --rematerialize full
// RUN: %{run} %t/causal.mlir --mesh dp=1,cp=8,tp=1 --dtype bf16 --overlap on --hardware h100-sxm

// Documents, a sink and a capped score; two axes divide. A window as long as the
// rows hides nothing.
// RUN: %{run} %t/options.mlir

// A bias, lengths, a window, dropout and shards without halves gather the keys.
// RUN: %{run} %t/gathered.mlir

//--- causal.mlir
tpsp.program <b = 4, s = 48, t = s, g = 3, r = 2, k = 5, v = 4> {
mesh @mesh <dp = 1 : data, cp = 4 : data, tp = 1 : model>
func @f(%q: [b@dp, s@cp, g, r@tp, k], %k0: [b@dp, s@cp, g, k], %v0: [b@dp, s@cp, g, v]) -> [b@dp, s@cp, g, r@tp, v] {
  %k = rename %k0 -> [b, t, g, k, ?]
  %v = rename %v0 -> [b, t, g, v, ?]
  %o = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.7, causal}
  return %o
}
}

//--- options.mlir
tpsp.program <b = 2, s = 24, t = s, h = 3, k = 5> {
mesh @mesh <cp = 2 : data, cq = 2 : data>
func @f(%q, %k0, %v0: [b, s@cp@cq, h, k], param %sink: [h], %document: i32[b, s@cp@cq] {tpsp.below = 3})
    -> ([b, s@cp@cq, h, k], [b, s@cp@cq, h, k], [b, s@cp@cq, h, k]) {
  %k = rename %k0 -> [b, t, h, k, ?]
  %v = rename %v0 -> [b, t, h, k, ?]
  %past = rename %document -> i32[b, t, ?]
  %o = attention %q, %k, %v, %document, %past {query = "s", key = "t", feature = "k", scale = 0.5, causal, softcap = 1.5}
  %p = attention %q, %k, %v, %sink, %document, %past {query = "s", key = "t", feature = "k", scale = 0.5}
  %r = attention %q, %k, %v, %sink {query = "s", key = "t", feature = "k", causal, window = 24}
  return %o, %p, %r
}
}

//--- gathered.mlir
tpsp.program <b = 2, s = 20, t = s, h = 3, k = 5> {
mesh @mesh <cp = 4 : data>
func @f(%q, %k0, %v0: [b, s@cp, h, k], %length: i32[b] {tpsp.below = 21}, param %bias: [h, s@cp, t])
    -> ([b, s@cp, h, k], [b, s@cp, h, k], [b, s@cp, h, k], [b, s@cp, h, k], [b, s@cp, h, k]) {
  %k = rename %k0 -> [b, t, h, k, ?]
  %v = rename %v0 -> [b, t, h, k, ?]
  %o = attention %q, %k, %v, %bias {query = "s", key = "t", feature = "k"}
  %p = attention %q, %k, %v, %length {query = "s", key = "t", feature = "k"}
  %r = attention %q, %k, %v {query = "s", key = "t", feature = "k", causal, window = 18}
  %u = attention %q, %k, %v {query = "s", key = "t", feature = "k", dropout = 0.5, seed = 3}
  %w = attention %q, %k, %v {query = "s", key = "t", feature = "k", causal}
  return %o, %p, %r, %u, %w
}
}
