// A model without a mesh runs on one rank.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: tpsp-run %s --dtype bf16 --grad --verify --quiet

// CHECK: No collectives.
// CHECK: 1 rank:
// CHECK: all within tolerance

!x = tensor<3x7x8xf32, #tpsp.idx<b, s, d>>
!w = tensor<5x8xf32, #tpsp.idx<e, d>>
!y = tensor<3x7x5xf32, #tpsp.idx<b, s, e>>
func.func @f(%x: !x, %w: !w {tpsp.param}) -> !y {
  %0 = tpsp.einsum %w, %x : (!w, !x) -> !y
  %1 = tpsp.silu %0 : !y
  return %1 : !y
}
