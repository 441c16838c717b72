// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A1) query
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{query = "q" is not an index of operand #0, [b, s, h, k]}}
  %0 = tpsp.attention %q, %k, %v {query = "q", key = "t", feature = "k"} : (!q, !k, !k) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A1) key
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{key = "u" is not an index of operand #1, [b, t, h, k]}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "u", feature = "k"} : (!q, !k, !k) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A1) feature
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{feature = "d" is not an index of operand #0, [b, s, h, k]}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "d"} : (!q, !k, !k) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A1) k lacks the feature
func.func @f(%q: !q, %k: tensor<2x8x4xf32, #tpsp.idx<b, t, h>>, %v: !k) {
  // expected-error @+1 {{feature = "k" is not an index of operand #1, [b, t, h]}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k"} : (!q, tensor<2x8x4xf32, #tpsp.idx<b, t, h>>, !k) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A1) v lacks the key
func.func @f(%q: !q, %k: !k, %v: tensor<2x4x16xf32, #tpsp.idx<b, h, k>>) {
  // expected-error @+1 {{key = "t" is not an index of operand #2, [b, h, k]}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k"} : (!q, !k, tensor<2x4x16xf32, #tpsp.idx<b, h, k>>) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A1) q carries the key
func.func @f(%q: tensor<2x8x8x4x16xf32, #tpsp.idx<b, s, t, h, k>>, %k: !k, %v: !k) {
  // expected-error @+1 {{the query operand carries index 't', which it must not; give it another name (tpsp.rename)}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k"} : (tensor<2x8x8x4x16xf32, #tpsp.idx<b, s, t, h, k>>, !k, !k) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A1) k carries the query
func.func @f(%q: !q, %k: tensor<2x8x8x4x16xf32, #tpsp.idx<b, s, t, h, k>>, %v: !k) {
  // expected-error @+1 {{the key operand carries index 's', which it must not}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k"} : (!q, tensor<2x8x8x4x16xf32, #tpsp.idx<b, s, t, h, k>>, !k) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A1) v carries the query
func.func @f(%q: !q, %k: !k, %v: tensor<2x8x8x4x16xf32, #tpsp.idx<b, s, t, h, k>>) {
  // expected-error @+1 {{the value operand carries index 's', which it must not}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k"} : (!q, !k, tensor<2x8x8x4x16xf32, #tpsp.idx<b, s, t, h, k>>) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A2) the result carries the key
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{the result carries index 't', which it must not}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k"} : (!q, !k, !k) -> tensor<2x8x8x4x16xf32, #tpsp.idx<b, s, t, h, k>>
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A2) the result lacks the query
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{the result lacks the query index 's'}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k"} : (!q, !k, !k) -> tensor<2x4x16xf32, #tpsp.idx<b, h, k>>
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A3) k
func.func @f(%q: !q, %k: tensor<2x8x2x16xf32, #tpsp.idx<b, t, g, k>>, %v: !k) {
  // expected-error @+1 {{the key operand has index 'g', which the query operand lacks; remove it, or split the query's (tpsp.split)}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k"} : (!q, tensor<2x8x2x16xf32, #tpsp.idx<b, t, g, k>>, !k) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A3) v has an index that neither q nor the result has
func.func @f(%q: !q, %k: !k, %v: tensor<2x8x4x16x3xf32, #tpsp.idx<b, t, h, k, w>>) {
  // expected-error @+1 {{the value operand has index 'w', which the query operand lacks and which is not its one feature in the result; remove it}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k"} : (!q, !k, tensor<2x8x4x16x3xf32, #tpsp.idx<b, t, h, k, w>>) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A3) v has two features of its own
func.func @f(%q: !q, %k: !k, %v: tensor<2x8x4x5x3xf32, #tpsp.idx<b, t, h, v, w>>) {
  // expected-error @+1 {{the value operand has index 'w', which the query operand lacks and which is not its one feature in the result; remove it}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k"} : (!q, !k, tensor<2x8x4x5x3xf32, #tpsp.idx<b, t, h, v, w>>) -> tensor<2x8x4x5x3xf32, #tpsp.idx<b, s, h, v, w>>
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// scale
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{scale must be positive}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = -1.0} : (!q, !k, !k) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>

func.func @f(%q: !q) {
  // expected-error @+1 {{takes 3 tensors, then a bias, a sink, two tensors of segment numbers, lengths of keys and the step's number, each where it is there; it has 1 operands, or has them in another order}}
  %0 = tpsp.attention %q {query = "s", key = "t", feature = "k"} : !q
  return
}

// -----

!q = tensor<8x16xf32, #tpsp.idx<s, k>>
!k = tensor<8x16xf32, #tpsp.idx<t, k>>
func.func @dropout(%q: !q, %k: !k) { // (A4)
  // expected-error @below {{dropout 1.000000e+00 is not a probability below 1}}
  %0 = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", dropout = 1.0} : (!q, !k, !k) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A2) the result lacks the heads
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{the result lacks index 'h' of the queries; attention sums over keys alone, so sum the result after it (tpsp.reduce)}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k"} : (!q, !k, !k) -> tensor<2x8x16xf32, #tpsp.idx<b, s, k>>
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A2) the result lacks the values' own index
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{the result lacks index 'k' of the values}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k"} : (!q, !k, !k) -> tensor<2x8x4xf32, #tpsp.idx<b, s, h>>
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A7) a window beyond all positions
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{window = 9223372036854775807 is more than there are positions; leave it out}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal, window = 9223372036854775807} : (!q, !k, !k) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A7) a window of nothing
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{window = 0, but a query sees itself: a window is at least 1}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal, window = 0} : (!q, !k, !k) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A7) without the mask
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{window = 4 is of a mask that it does not have; add `causal`}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", window = 4} : (!q, !k, !k) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A7) softcap
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{softcap must be positive, and is -2}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", softcap = -2} : (!q, !k, !k) -> !q
  return
}

// -----

!q = tensor<2x9x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A7) queries that see no key
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{has a window, and 9 queries for 8 keys: the last ones may see none; take as many keys}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal, window = 2} : (!q, !k, !k) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A8) the feature
func.func @f(%q: !q, %k: !k, %v: !k, %x: tensor<8x16xf32, #tpsp.idx<s, k>>) {
  // expected-error @+1 {{the bias has index 'k', which is none of [b, h, s, t]; sum over it, or rename it (tpsp.rename)}}
  %0 = tpsp.attention %q, %k, %v, %x {query = "s", key = "t", feature = "k"} : (!q, !k, !k, tensor<8x16xf32, #tpsp.idx<s, k>>) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A8) of another precision
func.func @f(%q: !q, %k: !k, %v: !k, %x: tensor<8x8xbf16, #tpsp.idx<s, t>>) {
  // expected-error @+1 {{has tensors of}}
  %0 = tpsp.attention %q, %k, %v, %x {query = "s", key = "t", feature = "k"} : (!q, !k, !k, tensor<8x8xbf16, #tpsp.idx<s, t>>) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A11) segment numbers alone
func.func @f(%q: !q, %k: !k, %v: !k, %a: tensor<2x8xi32, #tpsp.idx<b, s>>) {
  // expected-error @+1 {{the lengths of keys have index 's', which is none of [b, h], those of both queries and keys; give one length for all of it, or segment numbers as two tensors}}
  %0 = tpsp.attention %q, %k, %v, %a {query = "s", key = "t", feature = "k"} : (!q, !k, !k, tensor<2x8xi32, #tpsp.idx<b, s>>) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A11) lengths of keys that are one each
func.func @f(%q: !q, %k: !k, %v: !k, %n: tensor<2x8xi32, #tpsp.idx<b, t>>) {
  // expected-error @+1 {{the lengths of keys have index 't', which is none of [b, h]}}
  %0 = tpsp.attention %q, %k, %v, %n {query = "s", key = "t", feature = "k"} : (!q, !k, !k, tensor<2x8xi32, #tpsp.idx<b, t>>) -> !q
  return
}

// -----

!q = tensor<2x8x4x3x16xf32, #tpsp.idx<b, s, h, r, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>
!r = tensor<3xi32, #tpsp.idx<r>>

// (A11) of heads that share keys
func.func @f(%q: !q, %k: !k, %v: !k, %a: tensor<8xi32, #tpsp.idx<s>>, %b: tensor<8xi32, #tpsp.idx<t>>, %n: !r) {
  // expected-error @+1 {{the lengths of keys have index 'r', which is none of [b, h]}}
  %0 = tpsp.attention %q, %k, %v, %a, %b, %n {query = "s", key = "t", feature = "k"} : (!q, !k, !k, tensor<8xi32, #tpsp.idx<s>>, tensor<8xi32, #tpsp.idx<t>>, !r) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>
!n = tensor<2xi32, #tpsp.idx<b>>

// (A11) lengths twice
func.func @f(%q: !q, %k: !k, %v: !k, %a: tensor<8xi32, #tpsp.idx<s>>, %b: tensor<8xi32, #tpsp.idx<t>>, %n: !n) {
  // expected-error @+1 {{operand #6 is the step's number, but has indices [b]; give a number without, or leave it out}}
  %0 = tpsp.attention %q, %k, %v, %a, %b, %n, %n {query = "s", key = "t", feature = "k"} : (!q, !k, !k, tensor<8xi32, #tpsp.idx<s>>, tensor<8xi32, #tpsp.idx<t>>, !n, !n) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A9) in another order
func.func @f(%q: !q, %k: !k, %v: !k, %a: tensor<2x8xi32, #tpsp.idx<b, s>>, %b: tensor<2x8xi32, #tpsp.idx<b, t>>) {
  // expected-error @+1 {{the segment numbers of the queries lack index 's'}}
  %0 = tpsp.attention %q, %k, %v, %b, %a {query = "s", key = "t", feature = "k"} : (!q, !k, !k, tensor<2x8xi32, #tpsp.idx<b, t>>, tensor<2x8xi32, #tpsp.idx<b, s>>) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A9) of pairs
func.func @f(%q: !q, %k: !k, %v: !k, %a: tensor<2x8xi32, #tpsp.idx<b, s>>, %c: tensor<2x8x8xi32, #tpsp.idx<b, t, s>>) {
  // expected-error @+1 {{the segment numbers of the keys has index 's', which is none of [b, t, h]; sum over it, or rename it (tpsp.rename)}}
  %0 = tpsp.attention %q, %k, %v, %a, %c {query = "s", key = "t", feature = "k"} : (!q, !k, !k, tensor<2x8xi32, #tpsp.idx<b, s>>, tensor<2x8x8xi32, #tpsp.idx<b, t, s>>) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A9) a bias behind them
func.func @f(%q: !q, %k: !k, %v: !k, %a: tensor<2x8xi32, #tpsp.idx<b, s>>, %b: tensor<2x8xi32, #tpsp.idx<b, t>>, %x: tensor<8x8xf32, #tpsp.idx<s, t>>) {
  // expected-error @+1 {{operand #5 is the step's number, but has indices [s, t]; give a number without, or leave it out}}
  %0 = tpsp.attention %q, %k, %v, %a, %b, %x {query = "s", key = "t", feature = "k"} : (!q, !k, !k, tensor<2x8xi32, #tpsp.idx<b, s>>, tensor<2x8xi32, #tpsp.idx<b, t>>, tensor<8x8xf32, #tpsp.idx<s, t>>) -> !q
  return
}

// -----

!q = tensor<4x8x16xf32, #tpsp.idx<p, s, k>>
!k = tensor<4x10x16xf32, #tpsp.idx<p, t, k>>
!v = tensor<10x16xf32, #tpsp.idx<t, k>>

// (A12) v lacks the shards
func.func @f(%q: !q, %k: !k, %v: !v) {
  // expected-error @+1 {{shard = "p" is not an index of operand #2, [t, k]}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal, window = 3, shard = "p"} : (!q, !k, !v) -> !q
  return
}

// -----

!q = tensor<4x8x16xf32, #tpsp.idx<p, s, k>>
!k = tensor<4x10x16xf32, #tpsp.idx<p, t, k>>

// (A12) no mask
func.func @f(%q: !q, %k: !k) {
  // expected-error @+1 {{has shards of keys, which need `causal`, no bias and no lengths}}
  %0 = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", shard = "p"} : (!q, !k, !k) -> !q
  return
}

// -----

!q = tensor<4x8x16xf32, #tpsp.idx<p, s, k>>
!k = tensor<4x7x16xf32, #tpsp.idx<p, t, k>>

// (A12) fewer keys than queries
func.func @f(%q: !q, %k: !k) {
  // expected-error @+1 {{has shards of 8 queries and 7 keys; a shard has the keys of its own queries}}
  %0 = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", causal, shard = "p"} : (!q, !k, !k) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A13) a sink of features
func.func @f(%q: !q, %k: !k, %sink: tensor<4x16xf32, #tpsp.idx<h, k>>) {
  // expected-error @+1 {{the sink has index 'k', which is none of [b, h]; sum over it, or rename it (tpsp.rename)}}
  %0 = tpsp.attention %q, %k, %k, %sink {query = "s", key = "t", feature = "k"} : (!q, !k, !k, tensor<4x16xf32, #tpsp.idx<h, k>>) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A4) a sink without an index would be taken for a step's number
func.func @f(%q: !q, %k: !k, %sink: tensor<f32, #tpsp.idx<>>) {
  // expected-error @+1 {{takes a number without an index only with dropout, as the number of the step; a sink has an index, such as the heads'}}
  %0 = tpsp.attention %q, %k, %k, %sink {query = "s", key = "t", feature = "k"} : (!q, !k, !k, tensor<f32, #tpsp.idx<>>) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A13) a sink of other heads
func.func @f(%q: !q, %k: !k, %sink: tensor<3xf32, #tpsp.idx<n>>) {
  // expected-error @+1 {{the sink has index 'n', which is none of [b, h]; sum over it, or rename it (tpsp.rename)}}
  %0 = tpsp.attention %q, %k, %k, %sink {query = "s", key = "t", feature = "k"} : (!q, !k, !k, tensor<3xf32, #tpsp.idx<n>>) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A13) in another precision
func.func @f(%q: !q, %k: !k, %sink: tensor<4xbf16, #tpsp.idx<h>>) {
  // expected-error @+1 {{has tensors of 'f32' and of 'bf16'; one operation computes in one type}}
  %0 = tpsp.attention %q, %k, %k, %sink {query = "s", key = "t", feature = "k"} : (!q, !k, !k, tensor<4xbf16, #tpsp.idx<h>>) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A13) before a bias
func.func @f(%q: !q, %k: !k, %sink: tensor<4xf32, #tpsp.idx<h>>, %bias: tensor<8x8xf32, #tpsp.idx<s, t>>) {
  // expected-error @+1 {{operand #4 is the step's number, but has indices [s, t]; give a number without, or leave it out}}
  %0 = tpsp.attention %q, %k, %k, %sink, %bias {query = "s", key = "t", feature = "k"} : (!q, !k, !k, tensor<4xf32, #tpsp.idx<h>>, tensor<8x8xf32, #tpsp.idx<s, t>>) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A13) with a bias and a statistic
func.func @f(%q: !q, %k: !k, %bias: tensor<8x8xf32, #tpsp.idx<s, t>>, %sink: tensor<4xf32, #tpsp.idx<h>>) {
  // expected-error @+1 {{has a bias, a sink and a statistic, which gradients with a bias do not read; leave the statistic out}}
  %0, %1 = tpsp.attention %q, %k, %k, %bias, %sink {query = "s", key = "t", feature = "k"} : (!q, !k, !k, tensor<8x8xf32, #tpsp.idx<s, t>>, tensor<4xf32, #tpsp.idx<h>>) -> (!q, tensor<2x4x8xf32, #tpsp.idx<b, h, s>>)
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A14) a chunk of nothing
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{chunk = 0, but a query sees itself: a chunk is at least 1}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal, chunk = 0} : (!q, !k, !k) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A14) without the mask
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{chunk = 4 needs `causal`, and positions of all keys; add `causal`}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", chunk = 4} : (!q, !k, !k) -> !q
  return
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A14) in shards
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{chunk = 4 needs `causal`, and positions of all keys; remove `shard`}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal, chunk = 4, shard = "b"} : (!q, !k, !k) -> !q
  return
}

// -----

!q = tensor<2x9x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

// (A14) queries that see no key
func.func @f(%q: !q, %k: !k, %v: !k) {
  // expected-error @+1 {{has chunks, and 9 queries for 8 keys: the last ones may see none; take as many keys}}
  %0 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal, chunk = 4} : (!q, !k, !k) -> !q
  return
}
