// RUN: tpsp-opt %s --tpsp-partition --split-input-file --verify-diagnostics

// A collective is missing before the operation.
tpsp.mesh @mesh <tp = 4>
func.func @operand(%w: tensor<8x4xf32, #tpsp.idx<e@tp, d>>, %x: tensor<8x4xf32, #tpsp.idx<s@tp, d>>) {
  // expected-error @+1 {{does not agree with any compute placement without communication; run tpsp-insert-collectives first}}
  %y = tpsp.einsum %w, %x : (tensor<8x4xf32, #tpsp.idx<e@tp, d>>, tensor<8x4xf32, #tpsp.idx<s@tp, d>>) -> tensor<8x8xf32, #tpsp.idx<s, e@tp>>
  return
}

// -----

// And after it.
tpsp.mesh @mesh <tp = 4>
func.func @result(%x: tensor<8xf32, #tpsp.idx<b@tp>>) {
  // expected-error @+1 {{does not agree with any compute placement without communication}}
  %y = tpsp.reduce %x : tensor<8xf32, #tpsp.idx<b@tp>> -> tensor<f32, #tpsp.idx<>>
  return
}

// -----

// A slice is missing, though it would be free.
tpsp.mesh @mesh <tp = 4>
func.func @slice(%x: tensor<8xf32, #tpsp.idx<b>>) {
  // expected-error @+1 {{does not agree with any compute placement without communication}}
  %y = tpsp.exp %x : tensor<8xf32, #tpsp.idx<b>> -> tensor<8xf32, #tpsp.idx<b@tp>>
  return
}

// -----

// Not placed at all.
func.func @unplaced(%x: tensor<8xf32, #tpsp.idx<b>>) {
  // expected-error @+1 {{does not agree with any compute placement without communication}}
  %y = tpsp.exp %x : tensor<8xf32, #tpsp.idx<b>> -> tensor<8xf32, #tpsp.idx<b, ?>>
  return
}
