// Tensor parallelism: one all-reduce forward, one backward, at every batch and
// sequence length.
// RUN: tpsp-opt %examples/mlp-tp.mlir %to_collectives | FileCheck %s %no_other
// RUN: sed 's/2x128x/1x128x/g' %examples/mlp-tp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/2x128x/64x128x/g' %examples/mlp-tp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/2x128x/1x32768x/g' %examples/mlp-tp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/2x128x/64x32768x/g' %examples/mlp-tp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other

// CHECK-LABEL: func.func @mlp(
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK-LABEL: func.func @mlp_grad(
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "g[x]", tpsp.backward}
