// Attention that no call computes keeps its scores. Predictions and the planner
// say so, with the bytes and the reason. Few bytes are not worth a sentence.
// REQUIRES: tpsp-run
// DEFINE: %{run} = tpsp-run %s --grad --simulate --hardware h100-sxm
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix SAY
// RUN: %{run} --extent s=64 2>&1 | FileCheck %s --check-prefix FEW
// RUN: %{run} --attention rows 2>&1 | FileCheck %s --check-prefix FEW
// RUN: tpsp-plan %s --hardware h100-sxm --devices 2 --max-axes 1 --overlap off | FileCheck %s --check-prefix PLAN
// RUN: tpsp-plan %s --hardware h100-sxm --devices 2 --max-axes 1 --overlap off --json | FileCheck %s --check-prefix JSON
// FEW-NOT: keeps its scores
// SAY: kept-scores.mlir:[[#@LINE+9]]:{{[0-9]+}}: warning: this attention keeps its scores in memory, 512.0 MiB in each of 2 layers over all ranks: cuDNN has no such attention: it has a bias
// SAY-NOT: keeps its scores
// PLAN: kept-scores.mlir:20: attention keeps its scores in memory, 512.0 MiB in each of 2 layers over all ranks: cuDNN has no such attention: it has a bias
// JSON: "kept_scores": [
// JSON-NEXT: kept-scores.mlir:20: attention keeps its scores

tpsp.program bf16 <b = 2, s = 4096, t = s, h = 8, k = 64> {
func private @layer(%x: [b, s, h, k], %bias: [h, s, t]) -> [b, s, h, k] {
  %k = rename %x -> [b, t, h, k]
  %o = attention %x, %k, %k, %bias {query = "s", key = "t", feature = "k", causal}
  return %o
}
func @model(%x: [b, s, h, k], %bias: [h, s, t]) -> [b, s, h, k] {
  %y = call @layer(%x, %bias)
  %z = call @layer(%y, %bias)
  return %z
}
}
