// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

!x = tensor<2x8xf32, #tpsp.idx<s, d>>

func.func @word(%x: !x) -> !x {
  // expected-error @+1 {{'apples' follows a number; expected ',' or '}'}}
  %y = tpsp.scale %x {factor = 2 apples} : !x
  return %y : !x
}

// -----

!x = tensor<2x8xf32, #tpsp.idx<s, d>>

func.func @no_exponent(%x: !x) -> !x {
  // expected-error @+1 {{expected integer value}}
  %y = tpsp.scale %x {factor = 2e-} : !x
  return %y : !x
}

// -----

!x = tensor<2x8xf32, #tpsp.idx<s, d>>

func.func @twice(%x: !x) -> !x {
  // expected-error @+1 {{has attribute 'factor' twice}}
  %y = tpsp.scale %x {factor = 2, factor = 3} : !x
  return %y : !x
}

// -----

!x = tensor<2x8xf32, #tpsp.idx<s, d>>

func.func @not_a_number(%x: !x) -> !x {
  // expected-error @+1 {{attribute 'factor' of 'tpsp.scale' takes a number, such as 0.5, not}}
  %y = tpsp.scale %x {factor = "2"} : !x
  return %y : !x
}

// -----

!x = tensor<2x8xf32, #tpsp.idx<s, d>>

// An f64 is no integer.
func.func @not_an_integer(%x: !x) -> !x {
  // expected-error @+1 {{attribute 'seed' of 'tpsp.dropout' takes a whole number, such as 1, not}}
  %y = tpsp.dropout %x {rate = 0.5, seed = 1e3} : !x
  return %y : !x
}
