// Two all-reduces forward and two backward; biases and gains cost nothing, their
// gradients are whole on every rank.
// RUN: tpsp-opt %examples/gpt-block-tp.mlir %to_collectives | FileCheck %s %no_other
// RUN: sed 's/2x128x/1x128x/g' %examples/gpt-block-tp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/2x128x/64x128x/g' %examples/gpt-block-tp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/2x128x/1x32768x/g' %examples/gpt-block-tp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/2x128x/64x32768x/g' %examples/gpt-block-tp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other

// CHECK-LABEL: func.func @block(
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK-LABEL: func.func @block_grad(
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "g[layer_norm]", tpsp.backward}
// CHECK: tpsp.all_reduce %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "g[layer_norm]", tpsp.backward}
