// Odd, prime and 1 extents, on one rank and on as many as divide them. Nothing
// may assume a multiple of a vector or of a cache line.
// REQUIRES: tpsp-run

// RUN: tpsp-run %s --function mlp --mesh tp=1 --grad --verify --quiet
// RUN: tpsp-run %s --function mlp --mesh tp=11 --grad --verify --quiet
// RUN: tpsp-run %s --function mlp --mesh tp=11 --dtype bf16 --grad --verify --quiet
// RUN: tpsp-run %s --function softmax --mesh tp=1 --grad --verify --quiet
// RUN: tpsp-run %s --function norms --mesh tp=1 --grad --verify --quiet
// RUN: tpsp-run %s --function norms --mesh tp=7 --grad --verify --quiet
// RUN: tpsp-run %s --function attention --mesh tp=1 --grad --verify --quiet
// RUN: tpsp-run %s --function attention --mesh tp=3 --grad --verify --quiet
// RUN: tpsp-run %s --function vectors --mesh tp=1 --grad --verify --quiet
// RUN: tpsp-run %s --function scalars --mesh tp=3 --grad --verify --quiet

tpsp.mesh @mesh <tp = 1 : model>

!x  = tensor<1x7x13xf32, #tpsp.idx<b, s, d>>
!m  = tensor<1x7x11xf32, #tpsp.idx<b, s, e, ?>>
!w0 = tensor<11x13xf32, #tpsp.idx<e@tp, d>>
!w1 = tensor<13x11xf32, #tpsp.idx<d, e@tp>>
func.func @mlp(%x: !x, %w0: !w0 {tpsp.param = "w0"},
               %w1: !w1 {tpsp.param = "w1"}) -> !x {
  %y = tpsp.einsum %w0, %x : (!w0, !x) -> !m
  %v = tpsp.gelu %y : !m
  %z = tpsp.einsum %w1, %v : (!w1, !m) -> !x
  return %z : !x
}

// A row of three, with columns that are not one vector.
!r = tensor<5x3xf32, #tpsp.idx<s, t>>
func.func @softmax(%x: !r) -> !r {
  %y = tpsp.softmax %x {over = "t", scale = 0.5} : !r
  return %y : !r
}

!n  = tensor<7x1x13xf32, #tpsp.idx<s@tp, b, d>>
!n_ = tensor<7x1x13xf32, #tpsp.idx<s, b, d, ?>>
!g  = tensor<13xf32, #tpsp.idx<d>>
func.func @norms(%x: !n, %g: !g {tpsp.param = "g"}, %b: !g {tpsp.param = "b"}) -> !n {
  %y = tpsp.rms_norm %x, %g : (!n, !g) -> !n_
  %z = tpsp.layer_norm %y, %g, %b : (!n_, !g, !g) -> !n
  return %z : !n
}

!q = tensor<1x5x3x7xf32, #tpsp.idx<b, s, h@tp, k>>
!p = tensor<1x5x3x7xf32, #tpsp.idx<b, t, h@tp, k>>
func.func @attention(%q: !q, %k: !p, %v: !p) -> !q {
  %o = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
         scale = 0.37, causal} : (!q, !p, !p) -> !q
  return %o : !q
}

// All but one index is 1: matrices of one row, one column, one element.
!v = tensor<1x13xf32, #tpsp.idx<s, d>>
!c = tensor<1x13xf32, #tpsp.idx<e, d>>
!o = tensor<1x1xf32, #tpsp.idx<s, e>>
func.func @vectors(%x: !v, %w: !c) -> (!o, !v) {
  %y = tpsp.einsum %x, %w : (!v, !c) -> !o
  %z = tpsp.einsum %y, %w : (!o, !c) -> !v
  return %y, %z : !o, !v
}

// A result without indices, and its broadcast back.
!l = tensor<3x5xf32, #tpsp.idx<s@tp, d>>
!s = tensor<f32, #tpsp.idx<>>
func.func @scalars(%x: !l) -> (!s, !l) {
  %y = tpsp.reduce %x : !l -> !s
  %z = tpsp.mul %x, %y : (!l, !s) -> !l
  return %y, %z : !s, !l
}
