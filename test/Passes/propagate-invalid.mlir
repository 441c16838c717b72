// RUN: tpsp-opt %s --tpsp-propagate --split-input-file --verify-diagnostics

// Neither a role nor anything else says which of the two moves.
tpsp.mesh @mesh <ax = 4>
func.func @ambiguous(%x: tensor<8x32xf32, #tpsp.idx<b@ax, d>>, %w: tensor<64x32xf32, #tpsp.idx<e@ax, d>> {tpsp.param}) {
  // expected-error @+3 {{axis @ax is on different indices of its operands and the result is not placed; write the result's subscripts or give the axis a role (tpsp.mesh <ax = 4 : model> or : data)}}
  // expected-note @+2 {{with the result on e@ax, as operand #0 has it: 768 B per rank}}
  // expected-note @+1 {{with the result on b@ax, as operand #1 has it: 6.0 KiB per rank}}
  %y = tpsp.einsum %w, %x : (tensor<64x32xf32, #tpsp.idx<e@ax, d>>, tensor<8x32xf32, #tpsp.idx<b@ax, d>>) -> tensor<8x64xf32, #tpsp.idx<b, e, ?>>
  return
}

// -----

// A role does not decide between two activations.
tpsp.mesh @mesh <tp = 4 : model>
func.func @two_activations(%x: tensor<8x16xf32, #tpsp.idx<b@tp, s>>, %y: tensor<8x16xf32, #tpsp.idx<b, s@tp>>) {
  // expected-error @+3 {{axis @tp is on different indices of its operands}}
  // expected-note @+2 {{with the result on b@tp, as operand #0 has it: 96 B per rank}}
  // expected-note @+1 {{with the result on s@tp, as operand #1 has it: 96 B per rank}}
  %z = tpsp.add %x, %y : (tensor<8x16xf32, #tpsp.idx<b@tp, s>>, tensor<8x16xf32, #tpsp.idx<b, s@tp>>) -> tensor<8x16xf32, #tpsp.idx<b, s, ?>>
  return
}

// -----

// expected-error @+1 {{argument #1 is not placed ('?'); inputs and parameters are placed by who writes the program}}
func.func @unplaced_argument(%x: tensor<8xf32, #tpsp.idx<b>>, %y: tensor<8xf32, #tpsp.idx<b, ?>>) {
  return
}
