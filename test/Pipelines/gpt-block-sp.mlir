// Forward two gathers (Q, K and V share one) and two scatters; backward two
// gathers, two regathers of saved shards and two scatters (the three partial input
// gradients of Q, K and V are summed first); gains and replicated biases are
// reduced over tp together, once.
// RUN: tpsp-opt %examples/gpt-block-sp.mlir %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 2, s = 128/b = 1, s = 128/' %examples/gpt-block-sp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 2, s = 128/b = 64, s = 128/' %examples/gpt-block-sp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 2, s = 128/b = 1, s = 32768/' %examples/gpt-block-sp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 2, s = 128/b = 64, s = 32768/' %examples/gpt-block-sp.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other

// CHECK-LABEL: func.func @block(
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "layer_norm"}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "layer_norm"}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK-LABEL: func.func @block_grad(
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "layer_norm"}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "layer_norm"}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "g[result0]", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "layer_norm", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "g[layer_norm]", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "g[add]", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "layer_norm", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "g[layer_norm]", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.all_reduce %{{[^ ]+}}, %{{[^ ]+}}, %{{[^ ]+}}, %{{[^ ]+}}, %{{[^ ]+}}, %{{[^ ]+}} ["tp"] {{.*}}tensor = "g[b2], g[ln2.bias], g[ln2.gain], g[bo], g[ln1.bias], g[ln1.gain]"
