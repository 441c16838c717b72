// RUN: tpsp-opt %s --tpsp-micro-batch=micro-batches=4 --split-input-file --verify-diagnostics

!x = tensor<8x4xf32, #tpsp.idx<b, d>>
!l = tensor<f32, #tpsp.idx<>>
// A loss is right only if it is additive over the batch.
func.func @not_additive(%x: !x, %w: tensor<4xf32, #tpsp.idx<d>> {tpsp.param}) -> !l {
  %s = tpsp.einsum %x, %w : (!x, tensor<4xf32, #tpsp.idx<d>>) -> !l
  // expected-note @+1 {{the sum is made here}}
  %t = tpsp.scale %s {factor = 0.125 : f64} : !l
  // expected-error @+1 {{operand #0 is a sum over 'b', which is complete only after the last micro-batch, and 'tpsp.log' is not linear in it; keep what follows the sum linear (a mean is tpsp.reduce and tpsp.scale), or run without micro-batches}}
  %l = tpsp.log %t : !l
  return %l : !l
}

// -----

// The parts' means of the batch are not the batch's.
!x = tensor<8x4xf32, #tpsp.idx<b, d>>
!w = tensor<4xf32, #tpsp.idx<d>>
func.func @centred(%input: !x, %gain: !w {tpsp.param}) -> !x {
  %x = tpsp.mul %input, %gain : (!x, !w) -> !x
  // expected-note @+1 {{the sum is made here}}
  %s = tpsp.reduce %x : !x -> !w
  // expected-error @+1 {{operand #1 is a sum over 'b'}}
  %y = tpsp.sub %x, %s : (!x, !w) -> !x
  return %y : !x
}

// -----

!x = tensor<8x4xf32, #tpsp.idx<b, d>>
!w = tensor<4xf32, #tpsp.idx<d>>
func.func @maximum(%x: !x) -> !w {
  // expected-error @+1 {{takes the maximum over 'b', which micro-batches cut, and maxima of parts do not add up}}
  %y = tpsp.reduce %x {kind = "max"} : !x -> !w
  return %y : !w
}

// -----

!x = tensor<8x4xf32, #tpsp.idx<b, d>>
func.func @whole(%x: !x) -> !x {
  // expected-error @+1 {{needs index 'b' whole, which micro-batches cut; cut another index (--micro-batch-index), or run without micro-batches}}
  %y = tpsp.softmax %x {over = "b"} : !x
  return %y : !x
}

// -----

// Every element of the batch with every other.
!x = tensor<8x4xf32, #tpsp.idx<b, d>>
!z = tensor<8x4xf32, #tpsp.idx<c, d>>
!y = tensor<8x8xf32, #tpsp.idx<b, c>>
func.func @itself(%x: !x) -> !y {
  %z = tpsp.rename %x : !x -> !z
  // expected-error @+1 {{relates positions of the batch to each other ('b' and 'c'), and a micro-batch has only its own; run without micro-batches}}
  %y = tpsp.einsum %x, %z : (!x, !z) -> !y
  return %y : !y
}

// -----

!x = tensor<8x4xf32, #tpsp.idx<b, d>>
func.func @positions(%x: !x) -> !x {
  // expected-error @+1 {{computes with positions along 'b', which a part of it cannot know; cut along another index, or not at all}}
  %y = tpsp.causal_mask %x {query = "b", key = "d", fill = 0.0} : !x
  return %y : !x
}

// -----

!x = tensor<8x4xf32, #tpsp.idx<b, d>>
func.func @causal(%x: !x) -> !x {
  // expected-error @+1 {{computes with positions along 'b'}}
  %y = tpsp.softmax %x {over = "d", causal = "b"} : !x
  return %y : !x
}

// -----

!x = tensor<8x4xf32, #tpsp.idx<b, d>>
func.func @rotation(%x: !x) -> !x {
  // expected-error @+1 {{computes with positions along 'b'}}
  %y = tpsp.rope %x {position = "b", feature = "d"} : !x
  return %y : !x
}

// -----

tpsp.mesh @mesh <dp = 2>
!x = tensor<8x4xf32, #tpsp.idx<b@dp, d>>
!y = tensor<8x4xf32, #tpsp.idx<b, d>>
// expected-error @+1 {{argument #1 is [b, d] but argument #0 [b@dp, d]; micro-batches are parts of every rank's own 'b', so all arguments need the same subscripts on it}}
func.func @shards_differ(%x: !x, %y: !y) -> !x {
  return %x : !x
}

// -----

tpsp.mesh @mesh <dp = 2>
!x = tensor<12x4xf32, #tpsp.idx<b@dp, d>>
// expected-error @+1 {{argument #0 has index 'b' of extent 12, which 2 shards of 4 micro-batches do not divide; 3 or 6 micro-batches would}}
func.func @uneven(%x: !x) -> !x {
  return %x : !x
}

// -----

// On more axes than the argument.
tpsp.mesh @mesh <dp = 2, tp = 2>
!x = tensor<8x4xf32, #tpsp.idx<b@dp, d>>
!y = tensor<8x4xf32, #tpsp.idx<b@dp@tp, d>>
func.func @uneven_shards(%x: !x) -> !y {
  // expected-error @+1 {{has index 'b' of extent 8 on dp, tp (4 ranks), which 4 micro-batches do not divide; choose another number of micro-batches}}
  %y = tpsp.exp %x : !x -> !y
  return %y : !y
}

// -----

// Parts of the batch that are not parts of its groups.
!x = tensor<8x4xf32, #tpsp.idx<b, d>>
!y = tensor<2x4x4xf32, #tpsp.idx<g, r, d>>
func.func @uneven_groups(%x: !x) -> !y {
  // expected-error @+1 {{has index 'g' of extent 2, which 1 shards of 4 micro-batches do not divide; choose another number of micro-batches}}
  %y = tpsp.split %x : !x -> !y
  return %y : !y
}

// -----

// On three axes every rank has one position.
tpsp.mesh @mesh <dp = 2, cp = 2, tp = 2>
!x = tensor<8x4xf32, #tpsp.idx<b@dp@cp@tp, d>>
// expected-error @+1 {{argument #0 has index 'b' of extent 8, which 8 shards of 4 micro-batches do not divide; 1 micro-batches would}}
func.func @on_three_axes(%x: !x) -> !x {
  return %x : !x
}

// -----

// An id is a position of the whole table.
!ids = tensor<4xi32, #tpsp.idx<s>>
!table = tensor<8x4xf32, #tpsp.idx<b, d>>
!x = tensor<4x4xf32, #tpsp.idx<s, d>>
func.func @lookup(%ids: !ids, %table: !table) -> !x {
  // expected-error @+1 {{computes with positions along 'b', which a part of it cannot know; cut along another index, or not at all}}
  %x = tpsp.one_hot_einsum %ids, %table {indices = ["b"]} : (!ids, !table) -> !x
  return %x : !x
}

// -----

!x = tensor<8x4xf32, #tpsp.idx<b, d>>
func.func @foreign(%x: !x) -> !x {
  // expected-error @+1 {{has no index structure by which it could be cut into micro-batches}}
  %y = arith.negf %x : !x
  return %y : !x
}

// -----

// expected-error @+1 {{no argument has an index 'b' to cut into micro-batches; name the batch with --micro-batch-index}}
module {
  func.func @no_batch(%x: tensor<8xf32, #tpsp.idx<s>>) {
    return
  }
}
