// No form of attention leaves a sum. The refusal is about the program, not
// about its gradient, which reads the result.
// REQUIRES: tpsp-run
// RUN: not tpsp-run %s --grad 2>&1 | FileCheck %s
// RUN: not tpsp-run %s --grad --attention blocks 2>&1 | FileCheck %s
// RUN: not tpsp-run %s --grad --attention fused 2>&1 | FileCheck %s
// CHECK: attention-partial.mlir:[[#@LINE+8]]:8: error: 'tpsp.{{einsum|attention}}' op has no legal compute placement
// CHECK-NOT: attention_gradient

tpsp.mesh @mesh <cp = 2 : data>
!q = tensor<1x8x2x4xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<1x8x2x4xf32, #tpsp.idx<b, t, h, k>>
!p = tensor<1x8x2x4xf32, #tpsp.idx<b, s, h, k | sum@cp>>
func.func @f(%q: !q {tpsp.name = "q"}, %k: !k {tpsp.name = "k"}, %v: !k {tpsp.name = "v"}) -> !p {
  %o = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.5, causal} : (!q, !k, !k) -> !p
  return %o : !p
}
