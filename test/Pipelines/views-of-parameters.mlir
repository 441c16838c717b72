// RUN: tpsp-run %s --grad --optimizer adamw --optimizer-axes dp --micro-batches 2 --rematerialize full \
// RUN:   --overlap off --simulate --hardware h100-sxm | FileCheck %s
// RUN: tpsp-run %s --grad --optimizer adamw --optimizer-axes dp --micro-batches 2 --rematerialize full \
// RUN:   --overlap on --simulate --hardware h100-sxm | FileCheck %s

// A step computes the views of parameters before its micro-batches. Each may be
// divided on @dp for nothing, and has to be gathered for its products then. So
// the search for placements sees a view where it is used: it cannot keep all
// combinations of twelve views open.

// CHECK: Collectives
// CHECK-NOT: all_gather {{.*}} layer{{[0-9]}}.w
// CHECK: update all_gather
// CHECK: Totals

tpsp.program bf16 <b = 16, d = 256, g = 4, k = 64, kv = 256, q = 512, r = 2, s = 64, t = s> {

mesh @mesh <dp = 4 : data>

func private @layer(%x: [b@dp, s, d], param %gain "gain": [d], param %q_proj "q": [q, d],
                    param %k_proj "k": [kv, d], param %v_proj "v": [kv, d],
                    param %o_proj "o": [d, q]) -> [b@dp, s, d] {
  %normed = rms_norm %x, %gain
  %w_q = split %q_proj -> [g, r, k, d, ?]
  %q = einsum %w_q, %normed -> [b, s, g, r, k, ?]
  %w_k = split %k_proj -> [g, k, d, ?]
  %keys_s = einsum %w_k, %normed -> [b, s, g, k, ?]
  %w_v = split %v_proj -> [g, k, d, ?]
  %values_s = einsum %w_v, %normed -> [b, s, g, k, ?]
  %keys = rename %keys_s -> [b, t, g, k, ?]
  %values = rename %values_s -> [b, t, g, k, ?]
  %o = attention %q, %keys, %values {query = "s", key = "t", feature = "k", scale = 0.125, causal}
      -> [b, s, g, r, k, ?]
  %w_o = split %o_proj -> [d, g, r, k, ?]
  %attended = einsum %w_o, %o -> [b, s, d, ?]
  %z = add %x, %attended -> [b@dp, s, d]
  return %z
}

func @model(%x: [b@dp, s, d]) -> f32[] {
  %y = repeat 3 @layer(%x) as "layer#.*"
  %y_f32 = convert %y -> f32[b, s, d, ?]
  %loss = mean %y_f32 -> f32[]
  return %loss
}
}
