// RUN: tpsp-opt %s --tpsp-propagate --split-input-file --verify-diagnostics

// No role and nothing else says which of the two moves.
tpsp.mesh @mesh <ax = 4>
func.func @ambiguous(%x: tensor<8x32xf32, #tpsp.idx<b@ax, d>>, %w: tensor<64x32xf32, #tpsp.idx<e@ax, d>> {tpsp.param}) {
  // expected-error @+3 {{axis @ax is on different indices of its operands and the result is not placed; write the result's subscripts or give the axis a role (tpsp.mesh <ax = 4 : model> or : data)}}
  // expected-note @+2 {{with the result on e@ax, as %w has it: 768 B per rank; ': model' chooses this}}
  // expected-note @+1 {{with the result on b@ax, as %x has it: 6.0 KiB per rank; ': data' chooses this}}
  %y = tpsp.einsum %w, %x : (tensor<64x32xf32, #tpsp.idx<e@ax, d>>, tensor<8x32xf32, #tpsp.idx<b@ax, d>>) -> tensor<8x64xf32, #tpsp.idx<b, e, ?>>
  return
}

// -----

// A role does not decide between two activations.
tpsp.mesh @mesh <tp = 4 : model>
func.func @two_activations(%x: tensor<8x16xf32, #tpsp.idx<b@tp, s>>, %y: tensor<8x16xf32, #tpsp.idx<b, s@tp>>) {
  // expected-error @+3 {{axis @tp is on different indices of its operands and the result is not placed; write the result's subscripts}}
  // expected-note @+2 {{with the result on b@tp, as %x has it: 96 B per rank}}
  // expected-note @+1 {{with the result on s@tp, as %y has it: 96 B per rank}}
  %z = tpsp.add %x, %y : (tensor<8x16xf32, #tpsp.idx<b@tp, s>>, tensor<8x16xf32, #tpsp.idx<b, s@tp>>) -> tensor<8x16xf32, #tpsp.idx<b, s, ?>>
  return
}

// -----

// expected-error @+1 {{argument #1 is not placed ('?'); inputs and parameters are placed by who writes the program}}
func.func @unplaced_argument(%x: tensor<8xf32, #tpsp.idx<b>>, %y: tensor<8xf32, #tpsp.idx<b, ?>>) {
  return
}

// -----

// Prices are for the axis in question. Of a tensor that another axis divides,
// only a rank's part counts: dp halves the batch.
tpsp.mesh @mesh <dp = 2, ax = 4>
func.func @another_axis(%x: tensor<8x16x32xf32, #tpsp.idx<b@dp, s@ax, d>>, %w: tensor<64x32xf32, #tpsp.idx<e@ax, d>> {tpsp.param}) {
  // expected-error @+3 {{axis @ax is on different indices of its operands}}
  // expected-note @+2 {{with the result on e@ax, as %w has it: 6.0 KiB per rank}}
  // expected-note @+1 {{with the result on s@ax, as %x has it: 6.0 KiB per rank}}
  %y = tpsp.einsum %w, %x : (tensor<64x32xf32, #tpsp.idx<e@ax, d>>, tensor<8x16x32xf32, #tpsp.idx<b@dp, s@ax, d>>) -> tensor<8x16x64xf32, #tpsp.idx<b, s, e, ?>>
  return
}

// -----

// The index of the sum is on the axis on one side only: the other side can be
// sliced and the sum reduced, or the one side gathered.
tpsp.mesh @mesh <dp = 2, ax = 4>
func.func @one_sided(%x: tensor<8x16x32xf32, #tpsp.idx<b@dp, s, d>>, %w: tensor<64x32xf32, #tpsp.idx<e, d@ax>> {tpsp.param}) {
  // expected-error @+3 {{sums over 'd', which only %w has on @ax, and the result is not placed; write the result's subscripts or give the axis a role (tpsp.mesh <ax = 4 : model> or : data)}}
  // expected-note @+2 {{with the sum over 'd' reduced: 24.0 KiB per rank; ': model' chooses this}}
  // expected-note @+1 {{with %w gathered first (tpsp.reshard): 6.0 KiB per rank; ': data' chooses this}}
  %y = tpsp.einsum %w, %x : (tensor<64x32xf32, #tpsp.idx<e, d@ax>>, tensor<8x16x32xf32, #tpsp.idx<b@dp, s, d>>) -> tensor<8x16x64xf32, #tpsp.idx<b, s, e, ?>>
  return
}

// -----

// Two activations: with a role, whichever, the sum is reduced.
tpsp.mesh @mesh <tp = 4>
func.func @one_sided_activations(%x: tensor<8x32xf32, #tpsp.idx<b, d>>, %y: tensor<16x32xf32, #tpsp.idx<s, d@tp>>) {
  // expected-error @+3 {{sums over 'd', which only %y has on @tp, and the result is not placed; write the result's subscripts}}
  // expected-note @+2 {{with the sum over 'd' reduced: 768 B per rank}}
  // expected-note @+1 {{with %y gathered first (tpsp.reshard): 1.5 KiB per rank}}
  %z = tpsp.einsum %x, %y : (tensor<8x32xf32, #tpsp.idx<b, d>>, tensor<16x32xf32, #tpsp.idx<s, d@tp>>) -> tensor<8x16xf32, #tpsp.idx<b, s, ?>>
  return
}

// -----

// Each side has the axis on its own summed index.
tpsp.mesh @mesh <tp = 4>
func.func @two_sums(%x: tensor<8x32x16xf32, #tpsp.idx<b, d@tp, f>>, %w: tensor<64x32x16xf32, #tpsp.idx<e, d, f@tp>> {tpsp.param}) {
  // expected-error @+4 {{sums over 'd', which only %x has on @tp, and the result is not placed; write the result's subscripts}}
  // expected-note @+3 {{with %w, %x gathered first (tpsp.reshard): }}
  // expected-note @+2 {{with the sum over 'f' reduced: }}
  // expected-note @+1 {{with the sum over 'd' reduced: }}
  %y = tpsp.einsum %w, %x : (tensor<64x32x16xf32, #tpsp.idx<e, d, f@tp>>, tensor<8x32x16xf32, #tpsp.idx<b, d@tp, f>>) -> tensor<8x64xf32, #tpsp.idx<b, e, ?>>
  return
}

// -----

// An unused argument is checked, too, with its own location, whatever arguments
// come before it.
tpsp.mesh @mesh <tp = 4>
// expected-error @+1 {{index 'b' of argument #1 has extent 6, which its axes (tp: 4 ranks) do not divide}}
func.func @unused_uneven(%n: i32, %x: tensor<6xf32, #tpsp.idx<b@tp>>) {
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
// expected-error @+3 {{axis @tp is on both 'b' and 's' of %x}}
// expected-note @+2 {{way out: [b@tp, s]}}
// expected-note @+1 {{way out: [b, s@tp]}}
func.func @unused_conflict(%n: i32, %x: tensor<8x8xf32, #tpsp.idx<b@tp, s@tp>>) {
  return
}

// -----

// A placed result does not decide for an operand on which a weight has the axis
// elsewhere: v may be s@ax, as z is, or e@ax, as w1 is, and so may y.
tpsp.mesh @mesh <ax = 4>
!x = tensor<8x32xf32, #tpsp.idx<s@ax, d>>
!y = tensor<8x64xf32, #tpsp.idx<s, e, ?>>
!w0 = tensor<64x32xf32, #tpsp.idx<e@ax, d>>
!w1 = tensor<32x64xf32, #tpsp.idx<d, e@ax>>
func.func @contested_backwards(%x: !x, %w0: !w0 {tpsp.param}, %w1: !w1 {tpsp.param}) -> !x {
  // expected-error @+3 {{axis @ax is on different indices of its operands and the result is not placed}}
  // expected-note @+2 {{with the result on e@ax, as %w0 has it: 768 B per rank; ': model' chooses this}}
  // expected-note @+1 {{with the result on s@ax, as %x has it: 6.0 KiB per rank; ': data' chooses this}}
  %y = tpsp.einsum %w0, %x : (!w0, !x) -> !y
  %v = tpsp.gelu %y : !y
  %z = tpsp.einsum %w1, %v : (!w1, !y) -> !x
  return %z : !x
}

// -----

// A weight by its name that is not marked: the role takes it for an activation.
// Vectors and marked arguments get no such hint.
tpsp.mesh @mesh <ax = 4 : model>
// expected-note @+1 {{argument %wq is named like a weight but is not marked as a parameter, so axis roles take it for an activation; if it is one, mark it {tpsp.param = "wq"}}}
func.func @unmarked(%x: tensor<8x32xf32, #tpsp.idx<b@ax, d>>, %wq: tensor<64x32xf32, #tpsp.idx<e@ax, d>>) {
  %v = tpsp.scale %wq {factor = 2.0 : f64} : tensor<64x32xf32, #tpsp.idx<e@ax, d>>
  // expected-error @+3 {{axis @ax is on different indices of its operands and the result is not placed; write the result's subscripts}}
  // expected-note @+2 {{with the result on e@ax, as %v has it: 768 B per rank}}
  // expected-note @+1 {{with the result on b@ax, as %x has it: 6.0 KiB per rank}}
  %y = tpsp.einsum %v, %x : (tensor<64x32xf32, #tpsp.idx<e@ax, d>>, tensor<8x32xf32, #tpsp.idx<b@ax, d>>) -> tensor<8x64xf32, #tpsp.idx<b, e, ?>>
  return
}

// -----

tpsp.mesh @mesh <ax = 4>
// expected-note @+1 {{argument %v is named like a weight but is not marked as a parameter, so axis roles take it for an activation; if it is one, mark it {tpsp.param = "up_weight"}}}
func.func @unmarked_sum(%x: tensor<8x32xf32, #tpsp.idx<b, d>>, %v: tensor<64x32xf32, #tpsp.idx<e, d@ax>> {tpsp.name = "up_weight"}) {
  // expected-error @+3 {{sums over 'd', which only %v has on @ax}}
  // expected-note @+2 {{with the sum over 'd' reduced}}
  // expected-note @+1 {{with %v gathered first}}
  %y = tpsp.einsum %v, %x : (tensor<64x32xf32, #tpsp.idx<e, d@ax>>, tensor<8x32xf32, #tpsp.idx<b, d>>) -> tensor<8x64xf32, #tpsp.idx<b, e, ?>>
  return
}
