// jax-ml/jax#31927, #31918: a tensor unreduced over two mesh axes was rejected;
// the check was too strict.
//
// Here a tensor may be partial over any number of axes, and is reduced over all
// of them at once, or over one and left open over the other.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --function both --grad --verify | FileCheck %s --check-prefix=BOTH
// RUN: tpsp-run %s --function one --grad --verify | FileCheck %s --check-prefix=ONE
// RUN: tpsp-run %s --function both --mesh dp=4,tp=2 --dtype bf16 --grad --verify --quiet
// RUN: tpsp-run %s --function one --mesh dp=2,tp=4 --dtype bf16 --grad --verify --quiet

// BOTH: phase kind axes
// BOTH-NEXT: forward all_reduce dp,tp 6 B z
// BOTH-EMPTY:
// BOTH: all within tolerance
// ONE: phase kind axes
// ONE-NEXT: forward all_reduce dp 4 B o
// ONE-EMPTY:
// ONE: all within tolerance

tpsp.mesh @mesh <dp = 2, tp = 2>

!v = tensor<16x24xf32, #tpsp.idx<s@dp, e@tp>>
!w = tensor<16x24xf32, #tpsp.idx<s@dp, e@tp>>
!p = tensor<f32, #tpsp.idx<| sum@dp@tp>>
!o = tensor<f32, #tpsp.idx<| sum@tp>>
!z = tensor<f32, #tpsp.idx<>>

func.func @both(%v: !v, %w: !w) -> !z {
  %p = tpsp.einsum %w, %v : (!w, !v) -> !p
  %q = tpsp.scale %p {factor = 2.0} : !p
  %z = tpsp.reshard %q : !p -> !z
  return %z : !z
}

func.func @one(%v: !v, %w: !w) -> !o {
  %p = tpsp.einsum %w, %v : (!w, !v) -> !p
  %o = tpsp.reshard %p : !p -> !o
  return %o : !o
}
