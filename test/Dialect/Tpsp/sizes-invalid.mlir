// (I1) Extents and numbers of elements.
// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<0x4xf32, #tpsp.idx<s, d>>) {
  // expected-error @+1 {{operand #0 has extent 0; extents are at least 1}}
  %0 = tpsp.exp %x : tensor<0x4xf32, #tpsp.idx<s, d>>
  return
}

// -----

func.func @f(%x: tensor<4294967296x4294967296xf32, #tpsp.idx<s, d>>) {
  // expected-error @+1 {{operand #0 has more than 2^48 elements}}
  %0 = tpsp.exp %x : tensor<4294967296x4294967296xf32, #tpsp.idx<s, d>>
  return
}
