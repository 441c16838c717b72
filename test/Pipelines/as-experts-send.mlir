// Programs on which the fewest collectives sent more than an expert would. The
// comment of each program counts the expert's bytes, per rank, by the ring
// algorithm. The program may send 1.05 times as much.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: tpsp-opt %t/shared.mlir --tpsp-explain | FileCheck %t/shared.mlir
// RUN: tpsp-opt %t/lora.mlir --tpsp-explain | FileCheck %t/lora.mlir
// RUN: tpsp-opt %t/choice.mlir --tpsp-explain | FileCheck %t/choice.mlir
// RUN: tpsp-opt %t/tied.mlir --tpsp-explain | FileCheck %t/tied.mlir
// RUN: tpsp-run %t/mixtral.mlir --simulate | FileCheck %t/mixtral.mlir
//
// The same kinds and numbers for few and many tokens.
// RUN: tpsp-opt %t/shared.mlir --tpsp-set-extents=extent=g=1,s=8 --tpsp-explain | FileCheck %t/shared.mlir --check-prefix=COUNT
// RUN: tpsp-opt %t/shared.mlir --tpsp-set-extents=extent=g=1024,s=4096,c=1280 --tpsp-explain | FileCheck %t/shared.mlir --check-prefix=COUNT
// RUN: tpsp-opt %t/lora.mlir --tpsp-set-extents=extent=b=1,s=4 --tpsp-explain | FileCheck %t/lora.mlir --check-prefix=COUNT
// RUN: tpsp-opt %t/lora.mlir --tpsp-set-extents=extent=b=1024,s=4096 --tpsp-explain | FileCheck %t/lora.mlir --check-prefix=COUNT
//
// Lookups of gathered rows are right, and no warning says that they are repeated.
// RUN: tpsp-run %t/shared.mlir --grad --verify --quiet
// RUN: tpsp-run %t/lora.mlir --grad --verify --quiet
// RUN: tpsp-run %t/choice.mlir --grad --verify --quiet
// RUN: tpsp-run %t/mixtral.mlir --grad --verify --quiet 2>&1 | count 0

//--- shared.mlir
// A shared expert and routed ones under TP and SP. An activation x sends U = 2 *
// 64 * 48 * 4 * 3/4 = 18 KiB. By hand: tokens are gathered once for all experts,
// and the sum of all results is reduce-scattered. Backward: the gradient and the
// tokens are gathered, and the tokens' gradient is reduce-scattered. That is 5 U,
// and less than 2.5 KiB for weights of tokens, gains and gates. With the fewest
// collectives it was 272 KiB.
// CHECK: totals
// CHECK-NEXT: forward all_gather over tp x1 18.0 KiB
// CHECK-NEXT: forward reduce_scatter over tp x1 18.0 KiB
// CHECK-NEXT: backward all_gather over tp x2 36.0 KiB
// CHECK-NEXT: backward all_reduce over tp x2 1.8 KiB
// CHECK-NEXT: backward reduce_scatter over tp x1 18.0 KiB
// COUNT: totals
// COUNT-NEXT: forward all_gather over tp x1
// COUNT-NEXT: forward reduce_scatter over tp x1
// COUNT-NEXT: backward all_gather over tp x2
// COUNT-NEXT: backward all_reduce over tp x2
// COUNT-NEXT: backward reduce_scatter over tp x1
tpsp.program <g = 2, s = 64, d = 48, e = 8, f = 64, h = 64, k = 2, c = 20> {
mesh @mesh <tp = 4 : model>
func @moe(%x: [g, s@tp, d], param %gain: [d], param %gate: [e, d], param %up: [e, f@tp, d], param %down: [e, d, f@tp],
    param %sup "shared.up": [h@tp, d], param %sdown "shared.down": [d, h@tp]) -> [g, s@tp, d] {
  %n = rms_norm %x, %gain
  %score  = einsum %gate, %n -> [g, s, e, ?]
  %choice = router %score {expert = "e", choice = "k"}
  %best   = one_hot_einsum %choice, %score {indices = ["e"]} -> [g, s, k, ?]
  %weight = softmax %best {over = "k"}
  %y = dispatch %choice, %n {expert = "e", slot = "c", choice = "k"} -> [e, g, c, d, ?]
  %u = einsum %up, %y -> [e, g, c, f, ?]
  %a = silu %u
  %v = einsum %down, %a -> [e, g, c, d, ?]
  %m = combine %choice, %weight, %v {expert = "e", slot = "c", choice = "k"} -> [g, s, d, ?]
  %su = einsum %sup, %n -> [g, s, h, ?]
  %sa = silu %su
  %sd = einsum %sdown, %sa -> [g, s, d, ?]
  %z = add %x, %m, %sd -> [g, s@tp, d]
  return %z
}
}

//--- lora.mlir
// Adapters (r = 4) of all projections under TP and SP, the rest frozen. An
// activation sends U = 2 * 64 * 64 * 4 * 3/4 = 24 KiB. By hand: TP and SP's two
// gathers and two reduce-scatters, forward and backward, 8 U = 192 KiB. The
// adapters' gradients need sums of 5 [b, s, r], 1.5 KiB each, and 10.5 KiB of
// their own. With the fewest collectives it was 253.5 KiB, because the inputs
// were gathered again for the adapters.
// CHECK: totals
// CHECK-NEXT: forward all_gather over tp x2 48.0 KiB
// CHECK-NEXT: forward reduce_scatter over tp x2 48.0 KiB
// CHECK-NEXT: backward all_gather over tp x2 48.0 KiB
// CHECK-NEXT: backward all_reduce over tp x1 10.5 KiB
// CHECK-NEXT: backward reduce_scatter over tp x7 55.5 KiB
// COUNT: totals
// COUNT-NEXT: forward all_gather over tp x2
// COUNT-NEXT: forward reduce_scatter over tp x2
// COUNT-NEXT: backward all_gather over tp x2
// COUNT-NEXT: backward all_reduce over tp x1
// COUNT-NEXT: backward reduce_scatter over tp x7
tpsp.program <b = 2, s = 64, t = s, d = 64, h = 4, k = 16, e = 128, r = 4> {
mesh @mesh <tp = 4 : model>
func @layer(%x: [b, s@tp, d], param %n1: [d] {tpsp.frozen}, param %n2: [d] {tpsp.frozen},
    param %wq, %wk, %wv: [h@tp, k, d] {tpsp.frozen}, param %wo: [d, h@tp, k] {tpsp.frozen},
    param %wg, %wu: [e@tp, d] {tpsp.frozen}, param %wd: [d, e@tp] {tpsp.frozen},
    param %qa, %ka, %va, %ga, %ua: [r, d], param %qb, %kb, %vb: [h@tp, k, r], param %gb, %ub: [e@tp, r],
    param %oa: [r, h@tp, k], param %ob: [d, r], param %da: [r, e@tp], param %db: [d, r]) -> [b, s@tp, d] {
  %xn = rms_norm %x, %n1
  %q0 = einsum %wq, %xn -> [b, s, h, k, ?]
  %q1 = einsum %qa, %xn -> [b, s, r, ?]
  %q2 = einsum %qb, %q1 -> [b, s, h, k, ?]
  %q  = add %q0, %q2
  %k0 = einsum %wk, %xn -> [b, s, h, k, ?]
  %k1 = einsum %ka, %xn -> [b, s, r, ?]
  %k2 = einsum %kb, %k1 -> [b, s, h, k, ?]
  %k3 = add %k0, %k2
  %v0 = einsum %wv, %xn -> [b, s, h, k, ?]
  %v1 = einsum %va, %xn -> [b, s, r, ?]
  %v2 = einsum %vb, %v1 -> [b, s, h, k, ?]
  %v3 = add %v0, %v2
  %k  = rename %k3 -> [b, t, h, k, ?]
  %v  = rename %v3 -> [b, t, h, k, ?]
  %o  = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.125, causal}
  %a0 = einsum %wo, %o -> [b, s, d, ?]
  %a1 = einsum %oa, %o -> [b, s, r, ?]
  %a2 = einsum %ob, %a1 -> [b, s, d, ?]
  %y  = add %x, %a0, %a2 -> [b, s@tp, d]
  %yn = rms_norm %y, %n2
  %g0 = einsum %wg, %yn -> [b, s, e, ?]
  %g1 = einsum %ga, %yn -> [b, s, r, ?]
  %g2 = einsum %gb, %g1 -> [b, s, e, ?]
  %g3 = add %g0, %g2
  %g  = silu %g3
  %u0 = einsum %wu, %yn -> [b, s, e, ?]
  %u1 = einsum %ua, %yn -> [b, s, r, ?]
  %u2 = einsum %ub, %u1 -> [b, s, e, ?]
  %u  = add %u0, %u2
  %m  = mul %g, %u
  %d0 = einsum %wd, %m -> [b, s, d, ?]
  %d1 = einsum %da, %m -> [b, s, r, ?]
  %d2 = einsum %db, %d1 -> [b, s, d, ?]
  %z  = add %y, %d0, %d2 -> [b, s@tp, d]
  return %z
}
}

//--- choice.mlir
// Experts' choice under expert parallelism. Rows of experts send A = 4 * 8 * 16 *
// 48 * 4 / 4 * 3/4 = 18 KiB. By hand: rows to experts and back, forward and
// backward, 4 A = 72 KiB, and 2.5 KiB for gains and gates. The weights of rows are
// sent to the experts backward, A / 48 each way. With the fewest collectives the
// experts' results were sent again in their place: 90 KiB.
// CHECK: totals
// CHECK-NEXT: forward all_to_all over ep x2 36.0 KiB
// CHECK-NEXT: backward all_reduce over ep x1 2.5 KiB
// CHECK-NEXT: backward all_to_all over ep x4 36.8 KiB
tpsp.program <g = 4, s = 64, d = 48, e = 8, f = 64, c = 16> {
mesh @mesh <ep = 4 : model>
func @moe(%x: [g@ep, s, d], param %gain: [d], param %gate: [e, d], param %up: [e@ep, f, d], param %down: [e@ep, d, f]) -> [g@ep, s, d] {
  %n = rms_norm %x, %gain
  %score  = einsum %gate, %n -> [g, e, s, ?]
  %p = softmax %score {over = "e"}
  %choice = router %p {expert = "s", choice = "c"} -> i32[g, e, c, ?]
  %weight = one_hot_einsum %choice, %p {indices = ["s"]} -> [g, e, c, ?]
  %y = one_hot_einsum %choice, %n {indices = ["s"]} -> [g, e@ep, c, d]
  %u = einsum %up, %y -> [g, e, c, f, ?]
  %a = silu %u
  %v = einsum %down, %a -> [g, e, c, d, ?]
  %wv = einsum %weight, %v -> [g, e, c, d, ?]
  %m = one_hot_einsum %choice, %wv {indices = ["s"]} -> [g, s, d, ?]
  %z = add %x, %m -> [g@ep, s, d]
  return %z
}
}

//--- tied.mlir
// GPT-2 with a tied table under TP and SP: U = 2 * 64 * 48 * 4 * 3/4 = 18 KiB. By
// hand: 4 gathers and 4 reduce-scatters forward in two layers, one of each for the
// table. Backward 8 gathers and 4 reduce-scatters, and for the table 2 and 1.
// CHECK: totals
// CHECK-NEXT: forward all_gather over tp x5 90.0 KiB
// CHECK-NEXT: forward all_reduce over tp x2 2.2 KiB
// CHECK-NEXT: forward reduce_scatter over tp x5 90.0 KiB
// CHECK: backward all_gather over tp x10 180.0 KiB
// CHECK-NEXT: backward all_reduce over tp x1 3.9 KiB
// CHECK-NEXT: backward reduce_scatter over tp x5 90.0 KiB
tpsp.program <b = 2, s = 64, t = s, d = 48, h = 4, k = 12, e = 96, v = 256, p = 64> {
mesh @mesh <tp = 4 : model>
func private @layer(%x: [b, s@tp, d], param %g1, %c1: [d], param %wq, %wk, %wv: [h@tp, k, d], param %bq, %bk, %bv: [h@tp, k], param %wo: [d, h@tp, k], param %bo, %g2, %c2: [d],
   param %w1: [e@tp, d], param %b1: [e@tp], param %w2: [d, e@tp], param %b2: [d]) -> [b, s@tp, d] {
  %xn = layer_norm %x, %g1, %c1
  %q0 = einsum %wq, %xn -> [b, s, h, k, ?]
  %q  = add %q0, %bq
  %k0 = einsum %wk, %xn -> [b, s, h, k, ?]
  %k1 = add %k0, %bk
  %k  = rename %k1 -> [b, t, h, k, ?]
  %v0 = einsum %wv, %xn -> [b, s, h, k, ?]
  %v1 = add %v0, %bv
  %v  = rename %v1 -> [b, t, h, k, ?]
  %o  = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.125, causal}
  %a0 = einsum %wo, %o -> [b, s, d, ?]
  %a  = add %a0, %bo
  %h  = add %x, %a
  %hn = layer_norm %h, %g2, %c2
  %m0 = einsum %w1, %hn -> [b, s, e, ?]
  %m1 = add %m0, %b1
  %m2 = gelu %m1
  %m3 = einsum %w2, %m2 -> [b, s, d, ?]
  %m  = add %m3, %b2
  %z  = add %h, %m
  return %z
}
func @model(%tokens: i32[b, s], %targets: i32[b, s], %positions: i32[s], param %wte: [v@tp, d], param %wpe: [p, d], param %gain, %bias: [d]) -> [] {
  %e0 = embedding %tokens, %wte {vocabulary = "v"}
  %p0 = embedding %positions, %wpe {vocabulary = "p"}
  %x0 = add %e0, %p0
  %x  = repeat 2 @layer(%x0) as "h.#.*"
  %xn = layer_norm %x, %gain, %bias
  %logits = einsum %wte, %xn -> [b, s, v, ?]
  %token  = cross_entropy %logits, %targets {over = "v"}
  %loss   = mean %token -> []
  return %loss
}
}

//--- mixtral.mlir
// tpsp-import's Mixtral under TP and SP, forward: U = 2 * 64 * 64 * 4 * 3/4 = 24
// KiB. By hand: a gather and a reduce-scatter for attention and for experts, in
// two layers, and one of each for embedding and head: 10 U, and the sums of the
// loss. With the fewest collectives, experts' rows were all-reduced: 531.8 KiB.
// CHECK: Totals
// CHECK-NEXT: forward all_gather x5 120.0 KiB
// CHECK-NEXT: forward all_reduce x2 2.2 KiB
// CHECK-NEXT: forward reduce_scatter x5 120.0 KiB
tpsp.program <b = 2, c = 128, d = 64, f = 96, g = 4, j = 2, k = 16, kv = 64, q = 64, s = 64, v = 128, x = 4, xb = 1, xi = 4, t = s> {
mesh @mesh <tp = 4 : model>

func private @layer(
    %x: [b, s@tp, d],
    param %input_layernorm "input_layernorm.weight": [d],
    param %q_proj "self_attn.q_proj.weight": [q@tp, d],
    param %k_proj "self_attn.k_proj.weight": [kv@tp, d],
    param %v_proj "self_attn.v_proj.weight": [kv@tp, d],
    param %o_proj "self_attn.o_proj.weight": [d, q@tp],
    param %post_attention_layernorm "post_attention_layernorm.weight": [d],
    param %router "block_sparse_moe.gate.weight": [x, d],
    param %w1 "block_sparse_moe.experts.{x}.w1.weight": [x, f@tp, d],
    param %w3 "block_sparse_moe.experts.{x}.w3.weight": [x, f@tp, d],
    param %w2 "block_sparse_moe.experts.{x}.w2.weight": [x, d, f@tp]) -> [b, s@tp, d] {
  %normed = rms_norm %x, %input_layernorm {eps = 1e-05}

  // Attention.
  %w_q = split %q_proj -> [g, k, d, ?]
  %q = einsum %w_q, %normed -> [b, s, g, k, ?]
  %w_k = split %k_proj -> [g, k, d, ?]
  %k = einsum %w_k, %normed -> [b, s, g, k, ?]
  %w_v = split %v_proj -> [g, k, d, ?]
  %v = einsum %w_v, %normed -> [b, s, g, k, ?]
  %q_turned = rope %q {position = "s", feature = "k", theta = 1000000}
  %k_turned = rope %k {position = "s", feature = "k", theta = 1000000}
  %keys = rename %k_turned -> [b, t, g, k, ?]
  %values = rename %v -> [b, t, g, k, ?]
  %o = attention %q_turned, %keys, %values {query = "s", key = "t", feature = "k", scale = 0.25,
      causal} -> [b, s, g, k, ?]
  %w_attended = split %o_proj -> [d, g, k, ?]
  %attended = einsum %w_attended, %o -> [b, s, d, ?]
  %z = add %x, %attended
  %normed_1 = rms_norm %z, %post_attention_layernorm {eps = 1e-05}
  %score = einsum %router, %normed_1 -> [b, s, x, ?]
  %choice = router %score {expert = "x", choice = "j"} -> i32[b, s, j, ?]
  %chosen = one_hot_einsum %choice, %score {indices = ["x"]} -> [b, s, j, ?]
  %weight = softmax %chosen {over = "j"}

  // Experts. Blocks have c rows for the tokens of a sample, sorted by expert.
  %load = count_values %choice {over = ["s", "j"], of = ["xb", "xi"]} -> i32[b, xb, xi, ?]
  %expert = runs %load {of = "xi", along = "c"} -> i32[xb, b, c, ?]
  %rows = dispatch %choice, %load, %normed_1 {expert = "xi", slot = "c", choice = "j"}
      -> [xb, b, c, d, ?]
  %gate_of_block = split %w1 -> [xb, xi, f, d, ?]
  %gate = one_hot_einsum %expert, %gate_of_block, %rows {indices = ["xi"]} -> [xb, b, c, f, ?]
  %up_of_block = split %w3 -> [xb, xi, f, d, ?]
  %up = one_hot_einsum %expert, %up_of_block, %rows {indices = ["xi"]} -> [xb, b, c, f, ?]
  %activated = silu %gate
  %hidden = mul %activated, %up
  %down_of_block = split %w2 -> [xb, xi, d, f, ?]
  %down = one_hot_einsum %expert, %down_of_block, %hidden {indices = ["xi"]} -> [xb, b, c, d, ?]
  %mixed = combine %choice, %load, %weight, %down {expert = "xi", slot = "c", choice = "j"}
      -> [b, s, d, ?]
  %z_1 = add %z, %mixed -> [b, s@tp, d]
  return %z_1
}

func @model(
    %tokens: i32[b, s] {tpsp.data = "tokens"},
    %targets: i32[b, s] {tpsp.data = "next_tokens"},
    param %embedding "model.embed_tokens.weight": [v@tp, d],
    param %norm "model.norm.weight": [d],
    param %head "lm_head.weight": [v@tp, d]) -> [] {
  %x = embedding %tokens, %embedding {vocabulary = "v"} -> [b, s@tp, d]
  %x2 = repeat 2 @layer(%x) as "model.layers.#.*"
  %normed = rms_norm %x2, %norm {eps = 1e-05}
  %logits = einsum %head, %normed -> [b, s, v, ?]
  %each = cross_entropy %logits, %targets {over = "v"} -> [b, s, ?]
  %loss = mean %each, %targets -> []
  return %loss
}
}
