// Axes of one rank with others, in every place that an axis can have.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify --quiet
// RUN: tpsp-run %s --grad --quiet --emit %t.so
// RUN: tpsp-run %t.so --verify --quiet
// RUN: tpsp-run %s --grad --verify --quiet --mesh pp=1,tp=1
// RUN: tpsp-run %s --grad --verify --quiet --overlap on

tpsp.mesh @mesh <pp = 1, tp = 4 : model>

!x = tensor<8x32xf32, #tpsp.idx<b, d@pp@tp>>
!w = tensor<32x16xf32, #tpsp.idx<d@tp@pp, e>>
!v = tensor<16x32xf32, #tpsp.idx<e@pp, f@tp>>
!y = tensor<8x16xf32, #tpsp.idx<b@pp, e@tp>>
!z = tensor<8x32xf32, #tpsp.idx<b, f, ?>>
!s = tensor<16xf32, #tpsp.idx<e | sum@pp@tp>>
func.func @f(%x: !x {tpsp.name = "x"}, %w: !w {tpsp.param = "w"}, %v: !v {tpsp.param = "v"}) -> (!z, !s) {
  %y = tpsp.einsum %x, %w : (!x, !w) -> !y
  %u = tpsp.tanh %y : (!y) -> tensor<8x16xf32, #tpsp.idx<b, e, ?>>
  %z = tpsp.einsum %u, %v : (tensor<8x16xf32, #tpsp.idx<b, e, ?>>, !v) -> !z
  %s = tpsp.reduce %w : (!w) -> !s
  return %z, %s : !z, !s
}
