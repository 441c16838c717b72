// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

!x = tensor<4x8xf32, #tpsp.idx<s, e>>

// (V1) the shape
func.func @f(%x: !x) {
  // expected-error @+1 {{renames indices but changes the shape; use tpsp.split or tpsp.merge}}
  %0 = tpsp.rename %x : !x -> tensor<8x4xf32, #tpsp.idx<t, e>>
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, e>>

// (V1) the number of operands
func.func @f(%x: !x) {
  // expected-error @+1 {{takes 1 operands, not 2}}
  %0 = tpsp.rename %x, %x : !x -> tensor<4x8xf32, #tpsp.idx<t, e>>
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, e>>

// (V2) the parts' product
func.func @f(%x: !x) {
  // expected-error @+1 {{the parts of index 'e' multiply to 9, not to 8}}
  %0 = tpsp.split %x : !x -> tensor<4x3x3xf32, #tpsp.idx<s, h, k>>
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, e>>

// (V2) a part too many
func.func @f(%x: !x) {
  // expected-error @+1 {{index 'r' is no part of any merged index}}
  %0 = tpsp.split %x : !x -> tensor<4x2x4x3xf32, #tpsp.idx<s, h, k, r>>
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, e>>

// (V2) a part too few
func.func @f(%x: !x) {
  // expected-error @+1 {{the parts of index 'e' multiply to 2, not to 8}}
  %0 = tpsp.split %x : !x -> tensor<4x2xf32, #tpsp.idx<s, h>>
  return
}

// -----

!x = tensor<4x2x4xf32, #tpsp.idx<s, h, k>>

// (V2) read the other way
func.func @f(%x: !x) {
  // expected-error @+1 {{the parts of index 'e' multiply to 8, not to 16}}
  %0 = tpsp.merge %x : !x -> tensor<4x16xf32, #tpsp.idx<s, e>>
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, e>>

// (V3) names
func.func @f(%x: !x) {
  // expected-error @+1 {{has result indices [e, s], but they must be those of operand #0, [s, e]}}
  %0 = tpsp.reshard %x : !x -> tensor<8x4xf32, #tpsp.idx<e, s>>
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, e>>

// (V3) the shape
func.func @f(%x: !x) {
  // expected-error @+1 {{index 's' has extent 4 on operand #0 but 8 on the result}}
  %0 = tpsp.reshard %x : !x -> tensor<8x8xf32, #tpsp.idx<s, e>>
  return
}

// -----

func.func @of_nothing() {
  // expected-error @+1 {{takes 1 operands, not 0}}
  %x = "tpsp.rename"() : () -> tensor<4xf32, #tpsp.idx<s>>
  return
}

// -----

tpsp.mesh @mesh <tp = 2>

!x = tensor<4x8xf32, #tpsp.idx<s, e, local>>

// (V4) more elements
func.func @f(%x: !x) {
  // expected-error @+1 {{takes 35 elements of 32}}
  %0 = tpsp.prefix %x : !x -> tensor<5x7xf32, #tpsp.idx<s, e, local>>
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, e>>

// (V4) a whole tensor
func.func @f(%x: !x) {
  // expected-error @+1 {{is of one rank's tensors, and these are global}}
  %0 = tpsp.prefix %x : !x -> tensor<4x7xf32, #tpsp.idx<s, e>>
  return
}
