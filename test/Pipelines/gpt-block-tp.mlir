// Two all-reduces forward and two backward. Biases and gains cost nothing,
// because their gradients are whole on every rank.
// RUN: tpsp-opt %examples/gpt-block-tp.mlir %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 2, s = 128/b = 1, s = 128/' %examples/gpt-block-tp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 2, s = 128/b = 64, s = 128/' %examples/gpt-block-tp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 2, s = 128/b = 1, s = 32768/' %examples/gpt-block-tp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 2, s = 128/b = 64, s = 32768/' %examples/gpt-block-tp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other

// CHECK-LABEL: func.func @block(
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK-LABEL: func.func @block_grad(
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "g[layer_norm]", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "g[layer_norm]", tpsp.origin = #tpsp.origin<backward>}
