// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

!x = tensor<4x8xf32, #tpsp.idx<b, d>>
!row = tensor<8xf32, #tpsp.idx<d>>

// (P1)
func.func @f(%x: !x, %row: !row) {
  // expected-error @+1 {{operand #0 has index 'b', which the result lacks; a pointwise operation does not sum: use tpsp.reduce or tpsp.einsum}}
  %0 = tpsp.mul %x, %row : (!x, !row) -> !row
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (P2) two
func.func @f(%x: !x) {
  // expected-error @+1 {{takes 2 operands, not 3}}
  %0 = tpsp.sub %x, %x, %x : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (P2) one
func.func @f(%x: !x) {
  // expected-error @+1 {{takes 1 operands, not 2}}
  %0 = tpsp.gelu %x, %x : !x
  return
}

// -----

// (P2) at least one
func.func @f() {
  // expected-error @+1 {{takes 1 or more operands, not 0}}
  %0 = tpsp.add : () -> tensor<f32, #tpsp.idx<>>
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (P3)
func.func @f(%x: !x) {
  // expected-error @+1 {{of = "gelo" is not a scalar function; write the mnemonic of one, such as "gelu"}}
  %0 = tpsp.slope %x {of = "gelo"} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

func.func @f(%x: !x) {
  // expected-error @+1 {{asks for the position along 't', which is no index of the result, [b, d]}}
  %0 = tpsp.causal_mask %x {query = "b", key = "t", fill = 0.0} : !x
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{asks for the position along 's', which is no index of the result}}
  %0 = tpsp.rope_matrix {position = "s", feature = "p", out = "o", in = "i", theta = 1.0e4, pairs = 4} : () -> tensor<8x2x2x4xf32, #tpsp.idx<t, o, i, p>>
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (P7) no bound
func.func @f(%x: !x) {
  // expected-error @+1 {{bounds nothing; give `low`, `high` or both}}
  %0 = tpsp.clamp %x : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (P7) no number
func.func @f(%x: !x) {
  // expected-error @+1 {{a bound of nan bounds nothing; give a finite number, or leave it out}}
  %0 = tpsp.clamp %x {low = 0x7FF8000000000000 : f64} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (P7) bounds the wrong way round
func.func @f(%x: !x) {
  // expected-error @+1 {{low = 1.000000e+00 is above high = -5.000000e-01; no number is between them}}
  %0 = tpsp.clamp %x {low = 1, high = -0.5} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (P10) lengths that have the index they are along
func.func @f(%x: !x, %n: tensor<8xi32, #tpsp.idx<d>>) {
  // expected-error @+1 {{has lengths of index 'd' for every position of it; give one for all of them}}
  %0 = tpsp.length_mask %x, %n {index = "d", fill = 0.0} : (!x, tensor<8xi32, #tpsp.idx<d>>) -> !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (I7) numbers for lengths
func.func @f(%x: !x, %n: tensor<4xf32, #tpsp.idx<b>>) {
  // expected-error @+1 {{i32}}
  %0 = tpsp.length_mask %x, %n {index = "d", fill = 0.0} : (!x, tensor<4xf32, #tpsp.idx<b>>) -> !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (P9) an end after all positions
func.func @f(%x: !x) {
  // expected-error @+1 {{ends index 'd' at 9; it has 8 positions, so give a number from 1 to that}}
  %0 = tpsp.end_mask %x {index = "d", end = 9, fill = 0.0} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (P9) an end before all positions
func.func @f(%x: !x) {
  // expected-error @+1 {{ends index 'd' at 0; it has 8 positions}}
  %0 = tpsp.end_mask %x {index = "d", end = 0, fill = 0.0} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (P9) of no index of the result
func.func @f(%x: !x) {
  // expected-error @+1 {{asks for the position along 'z', which is no index of the result}}
  %0 = tpsp.end_mask %x {index = "z", end = 1, fill = 0.0} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (P8) a window of nothing
func.func @f(%x: !x) {
  // expected-error @+1 {{window = -1, but a query sees itself: a window is at least 1}}
  %0 = tpsp.causal_mask %x {query = "b", key = "d", fill = 0.0, window = -1} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (P8) a chunk of nothing
func.func @f(%x: !x) {
  // expected-error @+1 {{chunk = 0, but a chunk is at least 1}}
  %0 = tpsp.causal_mask %x {query = "b", key = "d", fill = 0.0, chunk = 0} : !x
  return
}

// -----

!x = tensor<2x4x8xf32, #tpsp.idx<p, b, d>>

// (P8) a chunk of shards
func.func @f(%x: !x) {
  // expected-error @+1 {{chunk = 2, whose positions `shard` does not have}}
  %0 = tpsp.causal_mask %x {query = "b", key = "d", fill = 0.0, chunk = 2, shard = "p"} : !x
  return
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// (I7) segment numbers that are no integers
func.func @f(%x: !x, %a: tensor<4xf32, #tpsp.idx<b>>, %c: tensor<8xi32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #1 holds integers: its element type is i32, not 'f32'}}
  %0 = tpsp.segment_mask %x, %a, %c {fill = 0.0} : (!x, tensor<4xf32, #tpsp.idx<b>>, tensor<8xi32, #tpsp.idx<d>>) -> !x
  return
}
