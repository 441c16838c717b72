// pytorch/torchtitan#2106: a replicated bias added to a tensor that is still a
// sum over tp is added tp times. Scaling it by 1/tp mends the value, and makes
// its gradient tp times too large.
//
// Here the sum of a partial and a whole tensor completes the partial one first,
// and the bias has no factor in either pass. Kept partial it is refused: a whole
// tensor does not become a summand.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --function tp --grad --verify | FileCheck %s --check-prefix=TP
// RUN: tpsp-run %s --function sp --grad --verify | FileCheck %s --check-prefix=SP
// RUN: tpsp-run %s --function tp --mesh tp=2 --dtype bf16 --grad --verify --quiet
// RUN: tpsp-run %s --function sp --mesh tp=8 --dtype bf16 --grad --verify --quiet
// RUN: not tpsp-run %s --function kept 2>&1 | FileCheck %s --check-prefix=KEPT

// TP: phase kind axes
// TP-NEXT: forward all_reduce tp 1.1 KiB p
// TP-EMPTY:
// TP: all within tolerance
// SP: phase kind axes
// SP-NEXT: forward reduce_scatter tp s 576 B p
// SP-NEXT: backward all_reduce tp 72 B g[b]
// SP-NEXT: backward all_gather tp s 576 B g[p]
// SP-EMPTY:
// SP: all within tolerance

tpsp.mesh @mesh <tp = 4 : model>

!v  = tensor<16x24xf32, #tpsp.idx<s, e@tp>>
!w  = tensor<12x24xf32, #tpsp.idx<d, e@tp>>
!p  = tensor<16x12xf32, #tpsp.idx<s, d | sum@tp>>
!b  = tensor<12xf32, #tpsp.idx<d>>
!z  = tensor<16x12xf32, #tpsp.idx<s, d>>
!zs = tensor<16x12xf32, #tpsp.idx<s@tp, d>>

func.func @tp(%v: !v, %w: !w {tpsp.param = "w"}, %b: !b {tpsp.param = "b"}) -> !z {
  %p = tpsp.einsum %w, %v : (!w, !v) -> !p
  %z = tpsp.add %p, %b : (!p, !b) -> !z
  return %z : !z
}

func.func @sp(%v: !v, %w: !w {tpsp.param = "w"}, %b: !b {tpsp.param = "b"}) -> !zs {
  %p = tpsp.einsum %w, %v : (!w, !v) -> !p
  %z = tpsp.add %p, %b : (!p, !b) -> !zs
  return %z : !zs
}

func.func @kept(%v: !v, %w: !w {tpsp.param = "w"}, %b: !b {tpsp.param = "b"}) -> !p {
  %p = tpsp.einsum %w, %v : (!w, !v) -> !p
  %z = tpsp.add %p, %b : (!p, !b) -> !p
  return %z : !p
}
// KEPT: error: {{.*}}operand #1 'b' [d] is whole along @tp, and the result is wanted as a sum that is pending over @tp: all {{[0-9]+}} ranks would add it; complete operand #0 'p' [s, d | sum@tp] first: tpsp.reshard to [s, d] sends {{[0-9.]+ [KM]?i?B}} per rank; or write '?'
