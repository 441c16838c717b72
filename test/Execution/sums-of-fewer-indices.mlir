// Summands over the same axes are added first, over their own indices. Indices
// that only the last operand has come later.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --verify --quiet
// RUN: tpsp-run %s --grad --verify --quiet

tpsp.mesh @mesh <tp = 2>

!p = tensor<4xf32, #tpsp.idx<a | sum@tp>>
!y = tensor<4x6xf32, #tpsp.idx<a, b>>
func.func @f(%p: !p, %q: !p, %y: !y) -> !y {
  %z = tpsp.add %p, %y, %q : (!p, !y, !p) -> !y
  return %z : !y
}
