// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

!x = tensor<2x4xf32, #tpsp.idx<b, n>>
!y = tensor<2xf32, #tpsp.idx<b>>
// (B1) one operand
func.func @b1_count(%x: !x) -> !y {
  // expected-error @+1 {{takes 1 operand, not 2}}
  %y = tpsp.take %x, %x {index = "n", at = 0} : !x -> !y
  return %y : !y
}

// -----

!x = tensor<2x4xf32, #tpsp.idx<b, n>>
!y = tensor<2xf32, #tpsp.idx<b>>
// (B1) the index
func.func @b1_index(%x: !x) -> !y {
  // expected-error @+1 {{index = "m" is not an index of the operand, [b, n]}}
  %y = tpsp.take %x {index = "m", at = 0} : !x -> !y
  return %y : !y
}

// -----

!x = tensor<2x4xf32, #tpsp.idx<b, n>>
!y = tensor<4xf32, #tpsp.idx<n>>
// (B1) the other indices
func.func @b1_rest(%x: !x) -> !y {
  // expected-error @+1 {{has result indices [n] and operand indices [b, n], which must differ by 'n' alone}}
  %y = tpsp.take %x {index = "n", at = 0} : !x -> !y
  return %y : !y
}

// -----

!x = tensor<2x4xf32, #tpsp.idx<b, n>>
!y = tensor<2xf32, #tpsp.idx<b>>
// (B2)
func.func @b2(%x: !x) -> !y {
  // expected-error @+1 {{at = 4 is no position of 'n', which has extent 4}}
  %y = tpsp.take %x {index = "n", at = 4} : !x -> !y
  return %y : !y
}

// -----

!x = tensor<2x4xf32, #tpsp.idx<b, n>>
!y = tensor<2xf32, #tpsp.idx<b>>
// (B3) positions
func.func @b3_count(%y: !y) -> !x {
  // expected-error @+1 {{has 2 operands, but 'n' has extent 4}}
  %x = tpsp.stack %y, %y {index = "n"} : !y -> !x
  return %x : !x
}

// -----

!x = tensor<2x1xf32, #tpsp.idx<b, n>>
!y = tensor<2xf32, #tpsp.idx<b>>
// (B3) the index
func.func @b3_index(%y: !y) -> !x {
  // expected-error @+1 {{index = "m" is not an index of the result, [b, n]}}
  %x = tpsp.stack %y {index = "m"} : !y -> !x
  return %x : !x
}

// -----

!x = tensor<2x2xf32, #tpsp.idx<b, n>>
!y = tensor<2xf32, #tpsp.idx<c>>
// (B3) the other indices
func.func @b3_rest(%y: !y) -> !x {
  // expected-error @+1 {{has result indices [b, n] and operand indices [c], which must differ by 'n' alone}}
  %x = tpsp.stack %y, %y {index = "n"} : !y -> !x
  return %x : !x
}
