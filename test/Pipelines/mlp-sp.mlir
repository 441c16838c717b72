// Tensor and sequence parallelism: a gather and a scatter forward; backward the
// same for the gradient, and a regather of the saved input for the weight.
// RUN: tpsp-opt %examples/mlp-sp.mlir %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 2, s = 128/b = 1, s = 128/' %examples/mlp-sp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 2, s = 128/b = 64, s = 128/' %examples/mlp-sp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 2, s = 128/b = 1, s = 32768/' %examples/mlp-sp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 2, s = 128/b = 64, s = 32768/' %examples/mlp-sp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other

// CHECK-LABEL: func.func @mlp(
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "x"}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK-LABEL: func.func @mlp_grad(
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "x"}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "g[result0]", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "x", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "g[x]", tpsp.origin = #tpsp.origin<backward>}
