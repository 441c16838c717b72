// pytorch/torchtitan#1805: under tensor parallelism every rank's experts see the
// same tokens with other weights, so the tokens' gradient is a sum over tp; it
// was not reduced, and all layers before the experts trained on a part of it.
//
// Here the gradient sums over h, which tp divides, and comes out partial: it is
// reduce-scattered onto the sequence, or all-reduced, as the tokens are placed.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s --check-prefix=SP
// RUN: sed 's/c@tp/c/' %s > %t.mlir
// RUN: tpsp-run %t.mlir --grad --verify | FileCheck %s --check-prefix=TP
// RUN: tpsp-run %s --mesh ep=4,tp=2 --dtype bf16 --grad --verify --quiet
// RUN: tpsp-run %s --mesh ep=1,tp=8 --grad --verify --quiet

// SP: phase kind axes
// SP-NEXT: forward all_gather tp c 6.0 KiB x
// SP-NEXT: forward reduce_scatter tp c 6.0 KiB z
// SP-NEXT: backward all_gather tp c 6.0 KiB g[z]
// SP-NEXT: backward all_gather tp c 6.0 KiB x
// SP-NEXT: backward reduce_scatter tp c 6.0 KiB g[x]
// SP-EMPTY:
// SP: all within tolerance
// TP: phase kind axes
// TP-NEXT: forward all_reduce tp 12.0 KiB z
// TP-NEXT: backward all_reduce tp 12.0 KiB g[x]
// TP-EMPTY:
// TP: all within tolerance

tpsp.mesh @mesh <ep = 2, tp = 2 : model>

!x  = tensor<4x8x16x12xf32, #tpsp.idx<e@ep, g, c@tp, d>>
!h  = tensor<4x8x16x24xf32, #tpsp.idx<e, g, c, h, ?>>
!w0 = tensor<4x24x12xf32, #tpsp.idx<e@ep, h@tp, d>>
!w1 = tensor<4x12x24xf32, #tpsp.idx<e@ep, d, h@tp>>
func.func @experts(%x: !x, %w0: !w0 {tpsp.param = "w0"},
                   %w1: !w1 {tpsp.param = "w1"}) -> !x {
  %y = tpsp.einsum %w0, %x : (!w0, !x) -> !h
  %v = tpsp.silu %y : !h
  %z = tpsp.einsum %w1, %v : (!w1, !h) -> !x
  return %z : !x
}
