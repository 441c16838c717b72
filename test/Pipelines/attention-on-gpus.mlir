// On a GPU attention with a window, a soft-cap, documents or lengths is one
// call, forward and backward, and a step takes no more memory than without.
// With a bias it is not.
// REQUIRES: tpsp-run
// DEFINE: %{options} = causal
// DEFINE: %{operands} =
// DEFINE: %{program} = sed 's/OPTIONS/%{options}/; s/OPERANDS/%{operands}/' %s
// DEFINE: %{plan} = %{program} | tpsp-opt --tpsp-pipeline="grad attention=fused device=cuda" --remarks-filter-missed='tpsp-.*' --remark-policy=all 2>&1 | FileCheck %s --check-prefix
// DEFINE: %{simulate} = %{program} > %t.mlir && tpsp-run %t.mlir --grad --simulate --hardware h200-sxm | FileCheck %s --check-prefix

// RUN: %{plan} CALL
// RUN: %{simulate} PLAIN
// REDEFINE: %{options} = causal, window = 1024
// RUN: %{plan} CALL
// RUN: %{simulate} WINDOW
// REDEFINE: %{options} = causal, softcap = 30.0
// RUN: %{plan} CALL
// RUN: %{simulate} PLAIN
// REDEFINE: %{options} = causal
// REDEFINE: %{operands} = , %%document, %%past
// RUN: %{plan} CALL
// RUN: %{simulate} DOCUMENTS
// REDEFINE: %{operands} = , %%length
// RUN: %{plan} CALL
// RUN: %{simulate} DOCUMENTS
// REDEFINE: %{operands} = , %%bias
// RUN: %{plan} BIAS

// CALL-NOT: Missed
// CALL: plan.attention %
// CALL: plan.attention_gradient %
// PLAIN: step 15.{{[0-3]}} ms, no communication, peak memory 1.5 GiB
// WINDOW: step 4.{{[67][0-9]}} ms, no communication, peak memory 1.5 GiB
// DOCUMENTS: step 27.{{[0-9]}} ms, no communication, peak memory 1.5 GiB
// BIAS: cuDNN has no such attention: it has a bias
// BIAS-NOT: plan.attention

tpsp.program bf16 <b = 4, s = 8192, t = s, g = 8, r = 4, k = 128> {
func @f(%q: [b, s, g, r, k], %keys, %values: [b, s, g, k],
    %document: i32[b, s], %length: i32[b], %bias: [s, t]) -> [b, s, g, r, k] {
  %k = rename %keys -> [b, t, g, k, ?]
  %v = rename %values -> [b, t, g, k, ?]
  %past = rename %document -> i32[b, t, ?]
  %o = attention %q, %k, %vOPERANDS {query = "s", key = "t", feature = "k", scale = 0.088388347648318447, OPTIONS}
  return %o
}
}
