// Softmax, norms and rope.
// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

!x = tensor<4x8xf32, #tpsp.idx<s, t>>

// (S1) the number of operands
func.func @f(%x: !x) {
  // expected-error @+1 {{takes 1 or 2 operands, not 3}}
  %0 = tpsp.softmax %x, %x, %x {over = "t"} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, t>>

// (S1) the indices
func.func @f(%x: !x) {
  // expected-error @+1 {{has result indices [t, s], but they must be those of operand #0, [s, t]}}
  %0 = tpsp.softmax %x {over = "t"} : !x -> tensor<8x4xf32, #tpsp.idx<t, s>>
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, t>>

// (S3) a sink of the summed index
func.func @f(%x: !x, %sink: tensor<8xf32, #tpsp.idx<t>>) {
  // expected-error @+1 {{the sink has index 't', which is none of [s]; take one position of it (tpsp.take), or rename it (tpsp.rename)}}
  %0 = tpsp.softmax %x, %sink {over = "t"} : (!x, tensor<8xf32, #tpsp.idx<t>>) -> !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, t>>

// (S3) a sink of another index
func.func @f(%x: !x, %sink: tensor<8xf32, #tpsp.idx<h>>) {
  // expected-error @+1 {{the sink has index 'h', which is none of [s]; take one position of it (tpsp.take), or rename it (tpsp.rename)}}
  %0 = tpsp.softmax %x, %sink {over = "t"} : (!x, tensor<8xf32, #tpsp.idx<h>>) -> !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, t>>

// (S2) over
func.func @f(%x: !x) {
  // expected-error @+1 {{over = "k" is not an index of operand #0, [s, t]}}
  %0 = tpsp.softmax %x {over = "k"} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, t>>

// (S2) causal
func.func @f(%x: !x) {
  // expected-error @+1 {{causal = "q" is not an index of operand #0, [s, t]}}
  %0 = tpsp.softmax %x {over = "t", causal = "q"} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, t>>

// (S2) differ
func.func @f(%x: !x) {
  // expected-error @+1 {{causal and over are both "t"}}
  %0 = tpsp.softmax %x {over = "t", causal = "t"} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, t>>

func.func @f(%x: !x) {
  // expected-error @+1 {{scale must be positive}}
  %0 = tpsp.softmax %x {over = "t", scale = 0.0} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, d>>
!g = tensor<8xf32, #tpsp.idx<d>>

// (L1) the number of operands
func.func @f(%x: !x, %g: !g) {
  // expected-error @+1 {{takes 3 operands, not 2}}
  %0 = tpsp.layer_norm %x, %g : (!x, !g) -> !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, d>>
!g = tensor<8xf32, #tpsp.idx<d>>

// (L1) the result
func.func @f(%x: !x, %g: !g) {
  // expected-error @+1 {{has result indices [d], but they must be those of operand #0, [s, d]}}
  %0 = tpsp.rms_norm %x, %g : (!x, !g) -> !g
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, d>>

// (L1) a gain without an index
func.func @f(%x: !x, %g: tensor<f32, #tpsp.idx<>>) {
  // expected-error @+1 {{gain has no index; the norm is over the gain's indices}}
  %0 = tpsp.rms_norm %x, %g : (!x, tensor<f32, #tpsp.idx<>>) -> !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, d>>

// (L1) a gain with an index that x lacks
func.func @f(%x: !x, %g: tensor<8xf32, #tpsp.idx<e>>) {
  // expected-error @+1 {{gain index = "e" is not an index of operand #0, [s, d]}}
  %0 = tpsp.rms_norm %x, %g : (!x, tensor<8xf32, #tpsp.idx<e>>) -> !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, d>>
!g = tensor<8xf32, #tpsp.idx<d>>

// (L1) gain and bias
func.func @f(%x: !x, %g: !g, %b: tensor<4xf32, #tpsp.idx<s>>) {
  // expected-error @+1 {{gain and bias have different indices}}
  %0 = tpsp.layer_norm %x, %g, %b : (!x, !g, tensor<4xf32, #tpsp.idx<s>>) -> !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, k>>

// (O1) the number of operands
func.func @f(%x: !x) {
  // expected-error @+1 {{takes 1 operands, not 2}}
  %0 = tpsp.rope %x, %x {position = "s", feature = "k"} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, k>>

// (O1) the result
func.func @f(%x: !x) {
  // expected-error @+1 {{has result indices [k, s], but they must be those of operand #0, [s, k]}}
  %0 = tpsp.rope %x {position = "s", feature = "k"} : !x -> tensor<8x4xf32, #tpsp.idx<k, s>>
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, k>>

// (O2) position
func.func @f(%x: !x) {
  // expected-error @+1 {{position = "t" is not an index of operand #0, [s, k]}}
  %0 = tpsp.rope %x {position = "t", feature = "k"} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, k>>

// (O2) feature
func.func @f(%x: !x) {
  // expected-error @+1 {{feature = "d" is not an index of operand #0, [s, k]}}
  %0 = tpsp.rope %x {position = "s", feature = "d"} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, k>>

// (O2) differ
func.func @f(%x: !x) {
  // expected-error @+1 {{position and feature are both "k"}}
  %0 = tpsp.rope %x {position = "k", feature = "k"} : !x
  return
}

// -----

!x = tensor<4x7xf32, #tpsp.idx<s, k>>

// (O2) pairs
func.func @f(%x: !x) {
  // expected-error @+1 {{rotates pairs, but index 'k' has the odd extent 7}}
  %0 = tpsp.rope %x {position = "s", feature = "k"} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, k>>

// (O3) stretch
func.func @f(%x: !x) {
  // expected-error @+1 {{stretch is 0.000000e+00; it is positive}}
  %0 = tpsp.rope %x {position = "s", feature = "k", stretch = 0} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, k>>

// (O3) all of them or none
func.func @f(%x: !x) {
  // expected-error @+1 {{trained, slow_turns and fast_turns are 6.400000e+01, 4.000000e+00 and 1.000000e+00; give none of them, or positive ones with slow_turns < fast_turns}}
  %0 = tpsp.rope %x {position = "s", feature = "k", stretch = 8, trained = 64, slow_turns = 4, fast_turns = 1} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<s, e>>
!g = tensor<8xf32, #tpsp.idx<e>>

// (L1) no number of f32
func.func @f(%x: !x, %g: !g) {
  // expected-error @+1 {{eps is 1.000000e-50, which is 0.000000e+00 in f32, in which the norm is computed; give 0, or a number from 1.2e-38 to 3.4e38}}
  %0 = tpsp.rms_norm %x, %g {eps = 1e-50} : (!x, !g) -> !x
  return
}

// -----

!x = tensor<4x8xf64, #tpsp.idx<s, e>>
!g = tensor<8xf64, #tpsp.idx<e>>

func.func @f(%x: !x, %g: !g) {
  %0 = tpsp.rms_norm %x, %g {eps = 1e-50} : (!x, !g) -> !x
  return
}
