// With micro-batches, too, parameters that data ranks store divided are gathered
// for each product, and activations stay where they are. The sums of all
// gradients are open until the last micro-batch; the search does not have to
// keep a placement of each.
// RUN: tpsp-opt %s --tpsp-collective-pipeline="grad=true micro-batches=2 bucket-bytes=0" -o %t
// RUN: grep -oE "tpsp\.(all_gather|all_reduce|reduce_scatter|all_to_all) .*" %t | sed -E 's/ .*part = 0>.*/ in each/; s/ %.*//' | sort | uniq -c | FileCheck %s
// The forward pass is in two functions.
// CHECK: {{^ *}}26 tpsp.all_gather in each
// CHECK-NEXT: {{^ *}}5 tpsp.all_reduce
// CHECK-NEXT: {{^ *}}9 tpsp.reduce_scatter
// CHECK-NOT: tpsp

tpsp.program <b = 16, d = 32, e = 64, g = 4, k = 8, kv = 32, q = 64, r = 2, s = 24, v = 48, t = s> {
mesh @mesh <dp = 2 : data>

func @model(%tokens: i32[b@dp, s] {tpsp.data = "tokens"}, %targets: i32[b@dp, s] {tpsp.data = "next_tokens"},
    param %embedding: [v@dp, d], param %gain: [d], param %wq: [q@dp, d], param %wk: [kv@dp, d], param %wv: [kv@dp, d],
    param %wo: [d@dp, q], param %gain_1: [d], param %wg: [e@dp, d], param %wu: [e@dp, d], param %wd: [d@dp, e],
    param %gain_2: [d], param %head: [v@dp, d]) -> [] {
  %x = embedding %tokens, %embedding {vocabulary = "v"} -> [b@dp, s, d]
  %normed = rms_norm %x, %gain
  %w_q = split %wq -> [g, r, k, d, ?]
  %queries = einsum %w_q, %normed -> [b, s, g, r, k, ?]
  %w_k = split %wk -> [g, k, d, ?]
  %k_0 = einsum %w_k, %normed -> [b, s, g, k, ?]
  %w_v = split %wv -> [g, k, d, ?]
  %v_0 = einsum %w_v, %normed -> [b, s, g, k, ?]
  %keys = rename %k_0 -> [b, t, g, k, ?]
  %values = rename %v_0 -> [b, t, g, k, ?]
  %o = attention %queries, %keys, %values {query = "s", key = "t", feature = "k", scale = 0.3, causal}
  %w_o = split %wo -> [d, g, r, k, ?]
  %attended = einsum %w_o, %o -> [b, s, d, ?]
  %z = add %x, %attended
  %normed_1 = rms_norm %z, %gain_1
  %gate = einsum %wg, %normed_1 -> [b, s, e, ?]
  %up = einsum %wu, %normed_1 -> [b, s, e, ?]
  %active = silu %gate
  %hidden = mul %active, %up
  %down = einsum %wd, %hidden -> [b, s, d, ?]
  %z_1 = add %z, %down
  %normed_2 = rms_norm %z_1, %gain_2
  %logits = einsum %head, %normed_2 -> [b, s, v, ?]
  %token = cross_entropy %logits, %targets {over = "v"}
  %loss = mean %token -> []
  return %loss
}
}
