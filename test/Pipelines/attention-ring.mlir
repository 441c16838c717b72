// Attention around a ring on GPUs: every hop is a call of cuDNN. Under the mask
// only calls for a rank's own keys are masked, and these begin at its first key.
// RUN: tpsp-opt %s --tpsp-pipeline="grad attention=ring for-gpu" | FileCheck %s --implicit-check-not=all_gather --implicit-check-not=reduce_scatter --implicit-check-not=start
// CHECK: plan.program @attention_grad
// CHECK: plan.permute {{.*}}from = array<i64: 3, 2, 1, 0>, {{.*}}reads the mirrored one
// CHECK: plan.attention {{.*}}{causal
// CHECK: plan.attention {{.*}}{scale
// CHECK: plan.attention {{.*}}{causal
// CHECK: plan.permute {{.*}}from = array<i64: 3, 0, 1, 2>
// CHECK-NOT: causal
// CHECK: plan.attention_gradient {{.*}}{causal
// CHECK: plan.attention_gradient {{.*}}{causal
// CHECK-NOT: causal
// CHECK: plan.permute {{.*}}from = array<i64: 1, 2, 3, 0>

// All ranks have as many scores, as with exchanged halves of queries and whole
// keys, and less in memory. Its links are hidden.
// RUN: %if tpsp-run %{ tpsp-run %s --simulate --hardware h100-sxm --attention ring --report %t.ring --quiet %}
// RUN: %if tpsp-run %{ tpsp-run %s --simulate --hardware h100-sxm --attention fused --balance-attention on --report %t.fused --quiet %}
// RUN: %if tpsp-run %{ tpsp-run %s --grad --simulate --hardware h100-sxm --attention ring --overlap on --require-overlap 0.5 --report %t.hidden --quiet %}
// RUN: %if tpsp-run %{ python3 -c "import json, sys; r, f = (json.load(open(n)) for n in sys.argv[1:]); assert r['matmul_flops'] == f['matmul_flops'] == 32768 * 32769 // 2 // 4 * 4 * 128 * 8, (r['matmul_flops'], f['matmul_flops']); assert r['memory']['peak'] < f['memory']['peak'], (r['memory'], f['memory'])" %t.ring %t.fused %}

tpsp.mesh @mesh <cp = 4 : data>
!q = tensor<1x32768x8x128xbf16, #tpsp.idx<b, s@cp, h, k>>
!k = tensor<1x32768x8x128xbf16, #tpsp.idx<b, t@cp, h, k>>
func.func @attention(%q: !q, %k: !k, %v: !k) -> !q {
  %y = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
         scale = 0.08838834764831845, causal} : (!q, !k, !k) -> !q
  return %y : !q
}
