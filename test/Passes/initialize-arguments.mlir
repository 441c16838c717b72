// The deviations of parameters, by their use in the program.
// RUN: tpsp-opt %s --inline --tpsp-initialize-arguments --split-input-file | FileCheck %s

!ids = tensor<2x8xi32, #tpsp.idx<b, s>>
!x = tensor<2x8x16xf32, #tpsp.idx<b, s, d, ?>>
!l = tensor<2x8x32xf32, #tpsp.idx<b, s, v, ?>>
!t = tensor<32x16xf32, #tpsp.idx<v, d>>

// A table, alone or as the head, too.
// CHECK-LABEL: func.func @tied
// CHECK-SAME: %{{.+}}: tensor<2x8xi32, {{[^{]+}}>>,
// CHECK-SAME: {tpsp.deviation = 2.000000e-02 : f64, tpsp.mean = 0.000000e+00 : f64, tpsp.param = "table"}
func.func @tied(%ids: !ids, %table: !t {tpsp.param = "table"}) -> !l {
  %x = tpsp.embedding %ids, %table {vocabulary = "v"} : (!ids, !t) -> !x
  %l = tpsp.einsum %table, %x : (!t, !x) -> !l
  return %l : !l
}

// -----

!x = tensor<2x8x64xf32, #tpsp.idx<b, s, d, ?>>
!h = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k, ?>>
!w = tensor<64x64xf32, #tpsp.idx<e, d>>
!s = tensor<4x16x64xf32, #tpsp.idx<h, k, d>>

// Sums have the terms of all indices that the result lacks: here d, and h and k;
// through views, conversions and calls.
// CHECK-LABEL: func.func @matrices
// CHECK-SAME: {tpsp.deviation = 1.250000e-01 : f64, tpsp.mean = 0.000000e+00 : f64, tpsp.param = "q"}
// CHECK-SAME: {tpsp.deviation = 1.250000e-01 : f64, tpsp.mean = 0.000000e+00 : f64, tpsp.param = "o"}
func.func private @project(%x: !x, %q: !w) -> !h {
  %s = tpsp.split %q : !w -> !s
  %y = tpsp.einsum %x, %s : (!x, !s) -> !h
  return %y : !h
}
func.func @matrices(%x: !x, %q: !w {tpsp.param = "q"}, %o: !s {tpsp.param = "o"}) -> !x {
  %y = call @project(%x, %q) : (!x, !w) -> !h
  %m = tpsp.scale %o {factor = 1.0 : f64} : !s
  %z = tpsp.einsum %y, %m : (!h, !s) -> !x
  return %z : !x
}

// -----

!x = tensor<8x16xf32, #tpsp.idx<s, d, ?>>
!g = tensor<16xf32, #tpsp.idx<d>>
!p = tensor<8x16xf32, #tpsp.idx<s, d>>

// A norm's operands are judged by its parts. Training begins vectors at their
// mean.
// CHECK-LABEL: func.func @vectors
// CHECK-SAME: {tpsp.deviation = 2.000000e-02 : f64, tpsp.initial_deviation = 0.000000e+00 : f64, tpsp.mean = 1.000000e+00 : f64, tpsp.param = "gain"}
// CHECK-SAME: {tpsp.deviation = 2.000000e-02 : f64, tpsp.initial_deviation = 0.000000e+00 : f64, tpsp.mean = 0.000000e+00 : f64, tpsp.param = "bias"}
// CHECK-SAME: {tpsp.deviation = 2.000000e-02 : f64, tpsp.initial_deviation = 0.000000e+00 : f64, tpsp.mean = 1.000000e+00 : f64, tpsp.param = "rms"}
// CHECK-SAME: {tpsp.deviation = 2.000000e-02 : f64, tpsp.initial_deviation = 0.000000e+00 : f64, tpsp.mean = 1.000000e+00 : f64, tpsp.param = "factor"}
// CHECK-SAME: {tpsp.deviation = 2.000000e-02 : f64, tpsp.initial_deviation = 0.000000e+00 : f64, tpsp.mean = 0.000000e+00 : f64, tpsp.param = "added"}
// CHECK-SAME: {tpsp.deviation = 2.000000e-02 : f64, tpsp.mean = 0.000000e+00 : f64, tpsp.param = "places"}
// CHECK-SAME: {tpsp.deviation = 2.000000e-02 : f64, tpsp.initial_deviation = 0.000000e+00 : f64, tpsp.mean = 1.000000e+00 : f64, tpsp.param = "divisor"}
// No part is left in the program.
// CHECK-NEXT: tpsp.layer_norm
// CHECK-NEXT: tpsp.rms_norm
// CHECK-NEXT: tpsp.mul
func.func @vectors(%x: !x, %gain: !g {tpsp.param = "gain"}, %bias: !g {tpsp.param = "bias"},
                   %rms: !g {tpsp.param = "rms"}, %factor: !g {tpsp.param = "factor"},
                   %added: !g {tpsp.param = "added"}, %places: !p {tpsp.param = "places"},
                   %divisor: !g {tpsp.param = "divisor"}) -> !x {
  %a = tpsp.layer_norm %x, %gain, %bias : (!x, !g, !g) -> !x
  %b = tpsp.rms_norm %a, %rms : (!x, !g) -> !x
  %c = tpsp.mul %b, %factor : (!x, !g) -> !x
  %d = tpsp.add %c, %added : (!x, !g) -> !x
  %e = tpsp.add %d, %places : (!x, !p) -> !x
  %f = tpsp.div %e, %divisor : (!x, !g) -> !x
  return %f : !x
}

// -----

!x = tensor<8x16xf32, #tpsp.idx<s, d, ?>>
!w = tensor<16x16xf32, #tpsp.idx<e, d>>
!ws = tensor<2x16x16xf32, #tpsp.idx<n, e, d>>
!y = tensor<8x16xf32, #tpsp.idx<s, e, ?>>

// Written values stay; each of stacked layers is a matrix; inputs are not
// changed.
// CHECK-LABEL: func.func @written
// CHECK-SAME: #tpsp.idx<s, d, ?>>, %
// CHECK-SAME: {tpsp.deviation = 2.500000e-01 : f64, tpsp.mean = 0.000000e+00 : f64, tpsp.param = "stacked"}
// CHECK-SAME: {tpsp.deviation = 5.000000e-01 : f64, tpsp.mean = 0.000000e+00 : f64, tpsp.param = "mine"}
func.func @written(%x: !x, %ws: !ws {tpsp.param = "stacked"},
                   %mine: !w {tpsp.param = "mine", tpsp.deviation = 0.5 : f64}) -> !y {
  %w = tpsp.take %ws {index = "n", at = 1} : !ws -> !w
  %y = tpsp.einsum %w, %x : (!w, !x) -> !y
  %z = tpsp.einsum %mine, %x : (!w, !x) -> !y
  %r = tpsp.add %y, %z : !y
  return %r : !y
}

// -----

// Matrices that rows choose: the terms are those of one matrix.
!ids = tensor<7xi32, #tpsp.idx<c>>
!x = tensor<7x16xf32, #tpsp.idx<c, d>>
!w = tensor<5x8x16xf32, #tpsp.idx<i, f, d>>
!u = tensor<7x8xf32, #tpsp.idx<c, f>>
// CHECK-LABEL: func.func @chosen
// CHECK-SAME: tpsp.deviation = 2.500000e-01 : f64, tpsp.mean = 0.000000e+00 : f64, tpsp.param = "w"
func.func @chosen(%ids: !ids, %x: !x, %w: !w {tpsp.param = "w"}) -> !u {
  %u = tpsp.one_hot_einsum %ids, %w, %x {indices = ["i"]} : (!ids, !w, !x) -> !u
  return %u : !u
}
