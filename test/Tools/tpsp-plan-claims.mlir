// No answer of the planner contradicts another. Layers are composed here, and
// evaluations end most of the searches. For all pairs, the best of one, less
// its gap, takes no longer than the best of the other.
// REQUIRES: tpsp-run
// DEFINE: %{claims} = python3 %S/../../benchmarks/claims --bin %tools_dir --devices 4 --evaluations 4,8,16,0 %examples/llama-tiny.mlir -- --forget-placements --stages 1
// RUN: %{claims} --optimizer adamw --overlap off --max-axes 2 | FileCheck %s
// RUN: %{claims} --max-axes 1 | FileCheck %s
// CHECK: | llama-tiny | 4 | {{.*}} | whole |
// CHECK: | llama-tiny | 0 | {{.*}} | whole | 0.00 % | 0 | 0.0 % |
// CHECK: 16 pairs, 0 contradictions
