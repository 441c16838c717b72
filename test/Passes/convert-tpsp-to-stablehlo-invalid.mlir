// RUN: tpsp-opt %s --split-input-file --verify-diagnostics --convert-tpsp-to-stablehlo

// A composite is taken apart before it is placed.
func.func @whole(%x: tensor<3x4xf32, #tpsp.idx<s, d>>) -> tensor<3xf32, #tpsp.idx<s>> {
  // expected-error @+1 {{'tpsp.mean' op has no form in StableHLO as a whole; take it apart first, as --tpsp-to-stablehlo does}}
  %y = tpsp.mean %x : tensor<3x4xf32, #tpsp.idx<s, d>> -> tensor<3xf32, #tpsp.idx<s>>
  return %y : tensor<3xf32, #tpsp.idx<s>>
}

// -----

// An argument must be whole.
tpsp.mesh @mesh <tp = 2>
// expected-error @+1 {{'arg0'[s, d | sum@tp] is partial, which Shardy has no word for at the ends of a program; complete it there (tpsp.reshard)}}
func.func @partial(%x: tensor<4x4xf32, #tpsp.idx<s, d | sum@tp>>) -> tensor<4x4xf32, #tpsp.idx<s, d>> {
  %y = tpsp.reshard %x : tensor<4x4xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<4x4xf32, #tpsp.idx<s, d>>
  return %y : tensor<4x4xf32, #tpsp.idx<s, d>>
}

// -----

// A result must be whole.
tpsp.mesh @mesh <tp = 2>
func.func @partial(%x: tensor<4x4xf32, #tpsp.idx<s, d@tp>>) -> tensor<4xf32, #tpsp.idx<s | sum@tp>> {
  // expected-error @+1 {{'reduce'[s | sum@tp] is partial}}
  %y = tpsp.reduce %x : tensor<4x4xf32, #tpsp.idx<s, d@tp>> -> tensor<4xf32, #tpsp.idx<s | sum@tp>>
  return %y : tensor<4xf32, #tpsp.idx<s | sum@tp>>
}

// -----

// expected-error @+1 {{'arg0'[s, local] is one rank's part; a StableHLO module has whole tensors: convert before tpsp-partition}}
func.func @local(%x: tensor<4xf32, #tpsp.idx<s, local>>) -> tensor<4xf32, #tpsp.idx<s, local>> {
  return %x : tensor<4xf32, #tpsp.idx<s, local>>
}

// -----

// expected-error @+1 {{'arg0' is no tensor of named indices; a program is made of those}}
func.func @plain(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{has 2 functions, and XLA runs one; name it with function=NAME}}
module {
  func.func @f(%x: tensor<4xf32, #tpsp.idx<s>>) -> tensor<4xf32, #tpsp.idx<s>> {
    return %x : tensor<4xf32, #tpsp.idx<s>>
  }
  func.func @g(%x: tensor<4xf32, #tpsp.idx<s>>) -> tensor<4xf32, #tpsp.idx<s>> {
    return %x : tensor<4xf32, #tpsp.idx<s>>
  }
}

// -----

// expected-error @+1 {{the program has no function to convert}}
module {
}
