// (N3): an axis is on at most one index of a tensor. The refusal, where the
// mesh is known, gives the bytes per rank of each way out.
// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

// The einsum decides what the ways cost: with e on tp nothing moves; with d on
// tp the product (2x16x64, half of it on a rank of dp) is a sum over tp.
tpsp.mesh @mesh <dp = 2, tp = 4>
!x = tensor<4x16x32xf32, #tpsp.idx<b@dp, s, d>>
!w = tensor<64x32xf32, #tpsp.idx<e@tp, d@tp>>
// expected-error @+1 {{axis @tp is on both 'e' and 'd' of %w; a mesh axis shards at most one index of a tensor}}
func.func @two_indices(%x: !x, %w: !w) {
  // expected-note @+2 {{way out: [e@tp, d]: 0 B per rank in this einsum}}
  // expected-note @+1 {{way out: [e, d@tp]: 12.0 KiB per rank in this einsum}}
  %y = tpsp.einsum %w, %x : (!w, !x) -> tensor<4x16x64xf32, #tpsp.idx<b, s, e, ?>>
  return
}

// -----

// A written result is part of the price: all-to-alls onto d. An index that is
// not on the axis is offered if it costs less.
tpsp.mesh @mesh <tp = 4>
!x = tensor<8x16x32xf32, #tpsp.idx<b@tp, s@tp, d>>
// expected-error @+1 {{axis @tp is on both 'b' and 's' of %x}}
func.func @another_index(%x: !x) {
  // expected-note @+3 {{way out: [b@tp, s, d]: 3.0 KiB per rank in this softmax}}
  // expected-note @+2 {{way out: [b, s@tp, d]: 3.0 KiB per rank in this softmax}}
  // expected-note @+1 {{or another index: [b, s, d@tp]: 0 B per rank in this softmax}}
  %y = tpsp.softmax %x {over = "b"} : !x -> tensor<8x16x32xf32, #tpsp.idx<b, s, d@tp>>
  return
}

// -----

// An alias is the type of operand and result: they change together.
tpsp.mesh @mesh <tp = 4>
!x = tensor<8x16x32xf32, #tpsp.idx<b@tp, s@tp, d@tp>>
// expected-error @+1 {{axis @tp is on 'b', 's' and 'd' of %x}}
func.func @alias(%x: !x) {
  // expected-note @+3 {{way out: [b@tp, s, d]: 0 B per rank in this gelu}}
  // expected-note @+2 {{way out: [b, s@tp, d]: 0 B per rank in this gelu}}
  // expected-note @+1 {{way out: [b, s, d@tp]: 0 B per rank in this gelu}}
  %y = tpsp.gelu %x : !x
  return
}

// -----

// A result is where its operation is.
tpsp.mesh @mesh <tp = 4>
func.func @result(%x: tensor<8x16xf32, #tpsp.idx<b@tp, s>>) {
  // expected-error @+3 {{axis @tp is on both 'b' and 's' of %y}}
  // expected-note @+2 {{way out: [b@tp, s]: 0 B per rank in this exp}}
  // expected-note @+1 {{way out: [b, s@tp]: 96 B per rank in this exp}}
  %y = tpsp.exp %x : tensor<8x16xf32, #tpsp.idx<b@tp, s>> -> tensor<8x16xf32, #tpsp.idx<b@tp, s@tp>>
  return
}

// -----

// On an index and pending: the sum scattered onto the index, or left open.
tpsp.mesh @mesh <tp = 4>
!p = tensor<8x16xf32, #tpsp.idx<b@tp, s | sum@tp>>
// expected-error @+1 {{axis @tp is on both 'b' and the pending sum of %p}}
func.func @pending(%p: !p) {
  // expected-note @+2 {{way out: [b@tp, s]: 0 B per rank in this neg}}
  // expected-note @+1 {{way out: [b, s | sum@tp]: 384 B per rank in this neg}}
  %y = tpsp.neg %p : !p -> tensor<8x16xf32, #tpsp.idx<b@tp, s>>
  return
}

// -----

// Two axes in conflict: one after the other.
tpsp.mesh @mesh <dp = 2, tp = 4>
!x = tensor<8x16xf32, #tpsp.idx<b@dp@tp, s@tp@dp>>
// expected-error @+1 {{axis @dp is on both 'b' and 's' of %x}}
func.func @two_axes(%x: !x) {
  // expected-note @+2 {{way out: [b@dp@tp, s]: 0 B per rank in this exp}}
  // expected-note @+1 {{way out: [b@tp, s@dp]: 0 B per rank in this exp}}
  %y = tpsp.exp %x : !x
  return
}

// -----

// A collective's tensors, too; the bytes depend on its other side.
tpsp.mesh @mesh <tp = 4>
func.func @collective(%x: tensor<8x16xf32, #tpsp.idx<b, s>>) {
  // expected-error @+3 {{axis @tp is on both 'b' and 's' of %y}}
  // expected-note @+2 {{way out: [b@tp, s]}}
  // expected-note @+1 {{way out: [b, s@tp]}}
  %y = tpsp.slice %x ["tp"] : tensor<8x16xf32, #tpsp.idx<b, s>> -> tensor<8x16xf32, #tpsp.idx<b@tp, s@tp>>
  return
}

// -----

// If an operand is not placed yet, the bytes of a way are unknown.
tpsp.mesh @mesh <tp = 4>
func.func @unplaced(%x: tensor<8x16xf32, #tpsp.idx<b, d, ?>>, %w: tensor<32x16xf32, #tpsp.idx<e@tp, d@tp>>) {
  // expected-error @-1 {{axis @tp is on both 'e' and 'd' of %w}}
  // expected-note-re @+2 {{way out: [e@tp, d]{{$}}}}
  // expected-note-re @+1 {{way out: [e, d@tp]{{$}}}}
  %y = tpsp.einsum %w, %x : (tensor<32x16xf32, #tpsp.idx<e@tp, d@tp>>, tensor<8x16xf32, #tpsp.idx<b, d, ?>>) -> tensor<8x32xf32, #tpsp.idx<b, e, ?>>
  return
}
