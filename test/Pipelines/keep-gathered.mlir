// FSDP gathers each weight in both passes; with gathered tensors kept, once, and
// the whole weights are saved for the backward pass.
// RUN: tpsp-opt %s --tpsp-collective-pipeline=grad --tpsp-drop-primals | FileCheck %s --check-prefix=AGAIN %no_other
// RUN: tpsp-opt %s --tpsp-collective-pipeline="grad keep-gathered" --tpsp-drop-primals | FileCheck %s --check-prefix=KEPT %no_other
// RUN: tpsp-opt %s --tpsp-explain -o /dev/null | FileCheck %s --check-prefix=AGAIN-MEMORY
// RUN: tpsp-opt %s --tpsp-explain=keep-gathered -o /dev/null | FileCheck %s --check-prefix=KEPT-MEMORY
// All of a layer is redone, also its gathers, which serve the gradients, too.
// RUN: tpsp-opt %s --tpsp-collective-pipeline="grad rematerialize=full" --tpsp-drop-primals | FileCheck %s --check-prefix=AGAIN %no_other

// AGAIN: tpsp.all_gather {{.*}} tensor = "w0"}
// AGAIN: tpsp.all_gather {{.*}} tensor = "w1"}
// AGAIN-DAG: tpsp.all_gather {{.*}} tensor = "w0", tpsp.origin = #tpsp.origin<backward{{(, recomputed)?}}>}
// AGAIN-DAG: tpsp.all_gather {{.*}} tensor = "w1", tpsp.origin = #tpsp.origin<backward{{(, recomputed)?}}>}
// AGAIN-DAG: tpsp.reduce_scatter {{.*}} tensor = "g[w1]", tpsp.origin = #tpsp.origin<backward>}
// AGAIN-DAG: tpsp.reduce_scatter {{.*}} tensor = "g[w0]", tpsp.origin = #tpsp.origin<backward>}

// KEPT: tpsp.all_gather {{.*}}; kept for the backward pass", tensor = "w0"}
// KEPT: tpsp.all_gather {{.*}}; kept for the backward pass", tensor = "w1"}
// KEPT: tpsp.reduce_scatter {{.*}} tensor = "g[w1]", tpsp.origin = #tpsp.origin<backward>}
// KEPT: tpsp.reduce_scatter {{.*}} tensor = "g[w0]", tpsp.origin = #tpsp.origin<backward>}

// AGAIN-MEMORY: saved for the backward pass
// AGAIN-MEMORY-NEXT: x[b@fsdp, s, d] x1 16.0 KiB
// AGAIN-MEMORY-NEXT: y[b@fsdp, s, e] x1 256.0 KiB
// AGAIN-MEMORY-NEXT: v[b@fsdp, s, e] x1 256.0 KiB
// AGAIN-MEMORY-NEXT: total x3 528.0 KiB

// KEPT-MEMORY: forward all_gather over fsdp x2
// KEPT-MEMORY-NEXT: backward reduce_scatter over fsdp x2
// KEPT-MEMORY: saved for the backward pass
// KEPT-MEMORY-NEXT: x[b@fsdp, s, d] x1 16.0 KiB
// KEPT-MEMORY-NEXT: w0[e, d] x1 256.0 KiB
// KEPT-MEMORY-NEXT: y[b@fsdp, s, e] x1 256.0 KiB
// KEPT-MEMORY-NEXT: v[b@fsdp, s, e] x1 256.0 KiB
// KEPT-MEMORY-NEXT: w1[d, e] x1 256.0 KiB
// KEPT-MEMORY-NEXT: total x5 1.0 MiB

tpsp.mesh @mesh <fsdp = 4 : data>
!x  = tensor<4x64x64xf32, #tpsp.idx<b@fsdp, s, d>>
!y  = tensor<4x64x1024xf32, #tpsp.idx<b, s, e, ?>>
!w0 = tensor<1024x64xf32, #tpsp.idx<e@fsdp, d>>
!w1 = tensor<64x1024xf32, #tpsp.idx<d, e@fsdp>>
func.func @mlp(%x: !x {tpsp.name = "x"}, %w0: !w0 {tpsp.param = "w0"},
               %w1: !w1 {tpsp.param = "w1"}) -> !x {
  %y = tpsp.einsum %w0, %x : (!w0, !x) -> !y
  %v = tpsp.gelu %y : !y
  %z = tpsp.einsum %w1, %v : (!w1, !y) -> !x
  return %z : !x
}
