// NVIDIA/Megatron-LM#5956, #7160, pytorch/pytorch#160285 (exactly twice at two
// ranks), databricks/megablocks#86 (why 1/ep?): gradients of experts' weights
// off by the size of the expert-parallel or the data-parallel group.
//
// Here the loss is a mean over all tokens, divided by their number once, and the
// tokens go to their experts and back. The experts' gradients are local, without
// a factor; the shared weight's is summed over the axis that shards the tokens.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: tpsp-run %s --mesh dp=1,ep=2 --grad --verify --quiet
// RUN: tpsp-run %s --mesh dp=2,ep=4 --grad --verify --quiet
// RUN: tpsp-run %s --mesh dp=4,ep=1 --grad --verify --quiet

// CHECK: phase kind axes
// CHECK-NEXT: forward all_to_all ep g -> e 768 B x
// CHECK-NEXT: forward all_to_all ep e -> g 768 B 3
// CHECK-NEXT: forward all_reduce dp,ep 6 B
// CHECK-NEXT: backward all_reduce dp,ep 72 B g[shared]
// CHECK-NEXT: backward all_to_all ep g -> e 768 B g[3]
// CHECK-NEXT: backward all_reduce dp 1.1 KiB g[experts]
// CHECK-NEXT: backward all_to_all ep e -> g 768 B g[x]
// CHECK-EMPTY:
// CHECK: all within tolerance

tpsp.mesh @mesh <dp = 2 : data, ep = 2 : data>

// Groups g of capacity c for each of the experts e; 4 * 8 * 4 tokens of 12.
!x  = tensor<4x8x4x12xf32, #tpsp.idx<e, g@dp@ep, c, d>>
!xe = tensor<4x8x4x12xf32, #tpsp.idx<e@ep, g@dp, c, d>>
!w  = tensor<4x12x12xf32, #tpsp.idx<e@ep, f, d>>
!ye = tensor<4x8x4x12xf32, #tpsp.idx<e@ep, g@dp, c, f>>
!y  = tensor<4x8x4x12xf32, #tpsp.idx<e, g@dp@ep, c, f>>
!s  = tensor<12xf32, #tpsp.idx<f>>
!l  = tensor<f32, #tpsp.idx<>>
func.func @mean_of_experts(%x: !x, %w: !w {tpsp.param = "experts"},
                           %s: !s {tpsp.param = "shared"}) -> !l {
  %0 = tpsp.reshard %x : !x -> !xe
  %1 = tpsp.einsum %w, %0 : (!w, !xe) -> !ye
  %2 = tpsp.silu %1 : !ye
  %3 = tpsp.reshard %2 : !ye -> !y
  %4 = tpsp.mul %3, %s : (!y, !s) -> !y
  %5 = tpsp.square %4 : !y
  %6 = tpsp.mean %5 : !y -> !l
  return %6 : !l
}
