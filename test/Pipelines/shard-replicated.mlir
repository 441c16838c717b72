// A block under tensor parallelism becomes one under tensor and sequence
// parallelism: gpt-block-sp's collectives, between free slices of the
// replicated input and gathers of the replicated result and gradient.
// DEFINE: %{shard} = --tpsp-collective-pipeline="grad=true shard-replicated=memory"
// DEFINE: %{no_reduce} = --implicit-check-not=tpsp.all_ --implicit-check-not=tpsp.reduce_scatter --implicit-check-not=tpsp.permute

// RUN: tpsp-opt %examples/gpt-block-tp.mlir %{shard} | FileCheck %s %{no_reduce}
// For any batch and sequence.
// RUN: sed 's/b = 2, s = 128/b = 1, s = 128/' %examples/gpt-block-tp.mlir | tpsp-opt %{shard} | FileCheck %s %{no_reduce}
// RUN: sed 's/b = 2, s = 128/b = 64, s = 32768/' %examples/gpt-block-tp.mlir | tpsp-opt %{shard} | FileCheck %s %{no_reduce}
// As written, the two all-reduces of tensor parallelism.
// RUN: tpsp-opt %examples/gpt-block-tp.mlir --tpsp-collective-pipeline="grad=true shard-replicated=off" | FileCheck %s --check-prefix=OFF %no_other
// OFF-COUNT-6: all_reduce

// CHECK-LABEL: func.func @block(
// CHECK: tpsp.slice %arg0 ["tp"]
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {{.*}}tensor = "layer_norm"}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {{.*}}tensor = "einsum"}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {{.*}}tensor = "layer_norm"}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {{.*}}tensor = "einsum"}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {{.*}}tensor = "add"}
// CHECK-LABEL: func.func @block_grad(
// CHECK: tpsp.slice %arg0 ["tp"]
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {{.*}}tensor = "layer_norm"}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {{.*}}tensor = "einsum"}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {{.*}}tensor = "layer_norm"}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {{.*}}tensor = "einsum"}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {{.*}}tensor = "add"}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {{.*}}tensor = "g[add]", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {{.*}}tensor = "layer_norm", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {{.*}}tensor = "g[layer_norm]", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {{.*}}tensor = "g[add]", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {{.*}}tensor = "layer_norm", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {{.*}}tensor = "g[layer_norm]", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.all_reduce %{{[^ ]+}}, %{{[^ ]+}}, %{{[^ ]+}}, %{{[^ ]+}}, %{{[^ ]+}}, %{{[^ ]+}} ["tp"] {{.*}}tensor = "g[b2], g[ln2.bias], g[ln2.gain], g[bo], g[ln1.bias], g[ln1.gain]"
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {{.*}}tensor = "g[x]", tpsp.origin = #tpsp.origin<backward>}

// The explanation gives the bytes that every value saves, and that the group
// sends.
// RUN: tpsp-opt %examples/gpt-block-tp.mlir --tpsp-explain=shard-replicated=memory | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: xn[b, s@tp, d] = layer_norm(
// EXPLAIN-NEXT: * s@tp instead of replicated keeps 192.0 KiB per rank less
// EXPLAIN: a0[b, s@tp, d] =
// EXPLAIN-NEXT: * s@tp instead of replicated keeps 192.0 KiB per rank less; one of 7 values, together 1.3 MiB less; their forward collectives send 960.0 KiB, before 768.0 KiB
