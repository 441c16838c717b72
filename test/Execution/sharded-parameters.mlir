// Weights sharded on both axes of a mesh: over @fsdp they are gathered before
// use and their gradients reduced and scattered.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: tpsp-run %s --mesh fsdp=4,tp=1 --grad --verify --quiet
// RUN: tpsp-run %s --mesh fsdp=1,tp=4 --grad --verify --quiet
// RUN: tpsp-run %s --mesh fsdp=4,tp=3 --grad --verify --quiet
// RUN: tpsp-run %s --dtype bf16 --grad --verify --quiet

// CHECK: forward all_gather fsdp d {{.*}} w0
// CHECK: forward all_gather fsdp d {{.*}} w1
// CHECK: backward reduce_scatter fsdp d
// CHECK: backward reduce_scatter fsdp d

tpsp.mesh @mesh <fsdp = 2 : data, tp = 2 : model>

!x  = tensor<4x6x16xf32, #tpsp.idx<b@fsdp, s, d>>
!y  = tensor<4x6x12xf32, #tpsp.idx<b, s, e, ?>>
!w0 = tensor<12x16xf32, #tpsp.idx<e@tp, d@fsdp>>
!w1 = tensor<16x12xf32, #tpsp.idx<d@fsdp, e@tp>>
func.func @f(%x: !x, %w0: !w0 {tpsp.param = "w0"}, %w1: !w1 {tpsp.param = "w1"}) -> !x {
  %y = tpsp.einsum %w0, %x : (!w0, !x) -> !y
  %v = tpsp.relu %y : !y
  %z = tpsp.einsum %w1, %v : (!w1, !y) -> !x
  return %z : !x
}
