// Names that are no operation: what other libraries call one, a misspelt one,
// and one that is like none.
// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

tpsp.program <b = 2> {
func @activation(%x: [b]) -> [b] {
  // expected-error @+1 {{'swish' is no operation of tpsp; is it 'silu'?}}
  %y = swish %x
  return %y
}
}

// -----

tpsp.program <b = 2> {
func @capitals(%x: [b]) -> [b] {
  // expected-error @+1 {{'SiLU' is no operation of tpsp; is it 'silu'?}}
  %y = SiLU %x
  return %y
}
}

// -----

func.func @misspelt(%x: tensor<2xf32, #tpsp.idx<b>>) {
  // expected-error @+1 {{'sofmax' is no operation of tpsp; is it 'softmax'?}}
  %y = tpsp.sofmax %x {over = "b"} : tensor<2xf32, #tpsp.idx<b>>
  return
}

// -----

tpsp.program <b = 2> {
func @unlike(%x: [b]) -> [b] {
  // expected-error @+1 {{custom op 'convolution' is unknown (tried 'tpsp.convolution' as well)}}
  %y = convolution %x
  return %y
}
}
