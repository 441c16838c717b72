// Tensor parallelism: one all-reduce forward, one backward, at every batch and
// sequence length.
// RUN: tpsp-opt %examples/mlp-tp.mlir %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 2, s = 128/b = 1, s = 128/' %examples/mlp-tp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 2, s = 128/b = 64, s = 128/' %examples/mlp-tp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 2, s = 128/b = 1, s = 32768/' %examples/mlp-tp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 2, s = 128/b = 64, s = 32768/' %examples/mlp-tp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other

// CHECK-LABEL: func.func @mlp(
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK-LABEL: func.func @mlp_grad(
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "g[x]", tpsp.origin = #tpsp.origin<backward>}
