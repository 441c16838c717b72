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
  // expected-error @+1 {{takes 3 or 4 operands, not 1}}
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
