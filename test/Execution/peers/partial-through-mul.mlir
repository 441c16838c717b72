// pytorch/pytorch#157340: how a Partial tensor goes through a multiplication
// needed a rework.
//
// Here a product is linear in each operand: partial times whole is partial, and
// reduced once (and backward, where the whole operand's gradient reads the
// partial one). A product of two summands is no summand: at least one of two
// partial operands is completed first.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --function one --grad --verify | FileCheck %s --check-prefix=ONE
// RUN: tpsp-run %s --function two --grad --verify | FileCheck %s --check-prefix=TWO
// RUN: tpsp-run %s --function one --mesh tp=8 --dtype bf16 --grad --verify --quiet
// RUN: tpsp-run %s --function two --mesh tp=2 --dtype bf16 --grad --verify --quiet
// RUN: tpsp-run %s --function kept --grad --verify | FileCheck %s --check-prefix=KEPT

// ONE: phase kind axes
// ONE-NEXT: forward all_reduce tp 1.1 KiB z
// ONE-NEXT: backward all_reduce tp 1.1 KiB g[x]
// ONE-EMPTY:
// ONE: all within tolerance
// TWO: phase kind axes
// TWO-NEXT: forward all_reduce tp 1.1 KiB p
// TWO-NEXT: backward all_reduce tp 1.1 KiB mul
// TWO-EMPTY:
// TWO: all within tolerance
// KEPT: phase kind axes
// KEPT-NEXT: forward all_reduce tp 1.1 KiB p
// KEPT-NEXT: backward
// KEPT: all within tolerance

tpsp.mesh @mesh <tp = 4 : model>

!v = tensor<16x24xf32, #tpsp.idx<s, e@tp>>
!w = tensor<12x24xf32, #tpsp.idx<d, e@tp>>
!p = tensor<16x12xf32, #tpsp.idx<s, d | sum@tp>>
!z = tensor<16x12xf32, #tpsp.idx<s, d>>

func.func @one(%v: !v, %w: !w {tpsp.param = "w"}, %x: !z) -> !z {
  %p = tpsp.einsum %w, %v : (!w, !v) -> !p
  %q = tpsp.mul %x, %p : (!z, !p) -> !p
  %z = tpsp.reshard %q : !p -> !z
  return %z : !z
}

func.func @two(%v: !v, %w: !w {tpsp.param = "w"}) -> !z {
  %p = tpsp.einsum %w, %v : (!w, !v) -> !p
  %z = tpsp.mul %p, %p : !p -> !z
  return %z : !z
}

func.func @kept(%v: !v, %w: !w {tpsp.param = "w"}) -> !p {
  %p = tpsp.einsum %w, %v : (!w, !v) -> !p
  %z = tpsp.mul %p, %p : !p
  return %z : !p
}
