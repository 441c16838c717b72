// Forward two gathers and two scatters, backward the same and two regathers; the
// two gains are reduced together.
// RUN: tpsp-opt %examples/llama3-8b-block.mlir %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 1, s = 512/b = 1, s = 128/' %examples/llama3-8b-block.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other
// RUN: sed 's/b = 1, s = 512/b = 64, s = 32768/' %examples/llama3-8b-block.mlir | tpsp-opt %to_collectives | FileCheck %s %no_other

// CHECK-LABEL: func.func @layer(
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "rms_norm"}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "rms_norm"}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK-LABEL: func.func @layer_grad(
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "rms_norm"}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "rms_norm"}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "einsum"}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "g[result0]", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "rms_norm", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "g[rms_norm]", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "g[add]", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "rms_norm", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {reason = "{{[^"]*}}", tensor = "g[rms_norm]", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.all_reduce %{{[^ ]+}}, %{{[^ ]+}} ["tp"] {{.*}}tensor = "g[ffn_norm], g[attention_norm]", tpsp.origin = #tpsp.origin<backward>}
