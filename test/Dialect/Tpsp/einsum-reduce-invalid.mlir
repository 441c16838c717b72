// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (E1) three operands
func.func @f(%x: !x) {
  // expected-error @+1 {{takes 1 or 2 operands, not 3}}
  %0 = tpsp.einsum %x, %x, %x : !x -> tensor<4xf32, #tpsp.idx<b>>
  return
}

// -----

// (E1) none
func.func @f() {
  // expected-error @+1 {{takes 1 or 2 operands, not 0}}
  %0 = tpsp.einsum : () -> tensor<f32, #tpsp.idx<>>
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (R1) the kind
func.func @f(%x: !x) {
  // expected-error @+1 {{kind is "mean"; it is "sum" or "max"}}
  %0 = tpsp.reduce %x {kind = "mean"} : !x -> tensor<4xf32, #tpsp.idx<b>>
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (R1) the number of operands
func.func @f(%x: !x) {
  // expected-error @+1 {{takes 1 operands, not 2}}
  %0 = tpsp.reduce %x, %x : !x -> tensor<4xf32, #tpsp.idx<b>>
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (I6) a maximum of summands is not the maximum of the sum
tpsp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<4x8xf32, #tpsp.idx<b, d | sum@tp>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.reduce' is not linear in it}}
  %0 = tpsp.reduce %x {kind = "max"} : tensor<4x8xf32, #tpsp.idx<b, d | sum@tp>> -> tensor<4xf32, #tpsp.idx<b>>
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, d>>
!y = tensor<4xf32, #tpsp.idx<s>>

// (G1)
func.func @f(%x: !x) {
  // expected-error @+1 {{takes 1 or 2 operands, not 3}}
  %0 = tpsp.mean %x, %x, %x : !x -> !y
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, d>>
!y = tensor<4xf32, #tpsp.idx<s>>

// (G1) labels of another index
func.func @f(%x: !x, %l: tensor<2xi32, #tpsp.idx<b>>) {
  // expected-error @+1 {{has labels of index 'b', which operand #0 [s, d] lacks; labels have indices of that operand alone}}
  %0 = tpsp.mean %x, %l : (!x, tensor<2xi32, #tpsp.idx<b>>) -> !y
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, d>>
!y = tensor<4xf32, #tpsp.idx<s>>

// (G1) labels of what is kept
func.func @f(%x: !x, %l: tensor<4xi32, #tpsp.idx<s>>) {
  // expected-error @+1 {{has labels [s], and the result [s] keeps all of these indices; leave out an index, or mask with tpsp.label_mask}}
  %0 = tpsp.mean %x, %l : (!x, tensor<4xi32, #tpsp.idx<s>>) -> !y
  return
}
