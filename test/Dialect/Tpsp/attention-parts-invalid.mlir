// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

!q = tensor<8x4xf32, #tpsp.idx<s, k>>
!k = tensor<8x4xf32, #tpsp.idx<t, k>>
!s = tensor<8xf32, #tpsp.idx<s>>
// (A5)
func.func @statistic_with_key(%q: !q, %k: !k) {
  // expected-error @+1 {{the result carries index 't', which it must not}}
  tpsp.attention_statistic %q, %k {query = "s", key = "t", feature = "k"} : (!q, !k) -> tensor<8x8xf32, #tpsp.idx<s, t>>
  return
}

// -----

!q = tensor<8x4xf32, #tpsp.idx<s, k>>
!k = tensor<8x4xf32, #tpsp.idx<t, k>>
// (A5)
func.func @statistic_without_query(%q: !q, %k: !k) {
  // expected-error @+1 {{the result lacks the query index 's'}}
  tpsp.attention_statistic %q, %k {query = "s", key = "t", feature = "k"} : (!q, !k) -> tensor<f32, #tpsp.idx<>>
  return
}

// -----

!q = tensor<8x4xf32, #tpsp.idx<s, k>>
!k = tensor<8x4xf32, #tpsp.idx<t, k>>
!s = tensor<8xf32, #tpsp.idx<s>>
// (A6)
func.func @gradient_of_nothing(%q: !q, %k: !k, %s: !s) {
  // expected-error @+1 {{of = 3; it is 0 (queries), 1 (keys) or 2 (values)}}
  tpsp.attention_gradient %q, %k, %k, %s, %q, %q {query = "s", key = "t", feature = "k", of = 3} : (!q, !k, !k, !s, !q, !q) -> !q
  return
}

// -----

!q = tensor<8x4xf32, #tpsp.idx<s, k>>
!k = tensor<8x4xf32, #tpsp.idx<t, k>>
!s = tensor<8xf32, #tpsp.idx<s>>
// (A6)
func.func @gradient_of_another(%q: !q, %k: !k, %s: !s) {
  // expected-error @+1 {{has result indices [s, k], but they must be those of operand #1, [t, k]}}
  tpsp.attention_gradient %q, %k, %k, %s, %q, %q {query = "s", key = "t", feature = "k", of = 1} : (!q, !k, !k, !s, !q, !q) -> !q
  return
}

// -----

!q = tensor<8x4xf32, #tpsp.idx<s, k>>
!k = tensor<8x4xf32, #tpsp.idx<t, k>>
!s = tensor<8xf32, #tpsp.idx<s>>
// (A6)
func.func @gradient_without_the_result(%q: !q, %k: !k, %s: !s) {
  // expected-error @+1 {{operand #5 is attention's result, and has the indices of its gradient, [s, k], not [s]}}
  tpsp.attention_gradient %q, %k, %k, %s, %q, %s {query = "s", key = "t", feature = "k", of = 1} : (!q, !k, !k, !s, !q, !s) -> !k
  return
}

// -----

tpsp.mesh @mesh <cp = 2>
!k = tensor<4x4xf32, #tpsp.idx<t@cp, k, local>>
// (C4)
func.func @whole_ring(%k: !k) {
  // expected-error @+1 {{by 2 is no rotation of a ring of 2 ranks}}
  tpsp.rotate %k ["cp"] by 2 : !k
  return
}

// -----

tpsp.mesh @mesh <cp = 2>
!k = tensor<4x4xf32, #tpsp.idx<t@cp, k, local>>
// (C4)
func.func @no_axis(%k: !k) {
  // expected-error @+1 {{names axis @tp, which the mesh does not have}}
  tpsp.rotate %k ["tp"] by 1 : !k
  return
}

// -----

!k = tensor<4x4xf32, #tpsp.idx<t, k>>
// (I7)
func.func @mixed(%x: !k) {
  // expected-error @+1 {{; one operation computes in one type (tpsp.convert)}}
  tpsp.scale %x {factor = 2.0} : !k -> tensor<4x4xbf16, #tpsp.idx<t, k>>
  return
}

// -----

!z = tensor<8x8xf32, #tpsp.idx<s, t>>
// (P5)
func.func @global_tile(%z: !z) {
  // expected-error @+1 {{has a tile, which is of one rank's shapes, but the result is global; run tpsp-partition first}}
  tpsp.causal_mask %z {query = "s", key = "t", fill = 0.0, tile = #tpsp.tile<index = "t", extent = 8, shift = 0, offset = 0, axes = []>} : !z
  return
}

// -----

tpsp.mesh @mesh <cp = 2>
!z = tensor<8x8xf32, #tpsp.idx<s, t, local>>
// (P5)
func.func @tile_over_no_axis(%z: !z) {
  // expected-error @+1 {{has a tile over "tp", which is no axis of the mesh}}
  tpsp.causal_mask %z {query = "s", key = "t", fill = 0.0, tile = #tpsp.tile<index = "t", extent = 8, shift = 0, offset = 0, axes = ["tp"]>} : !z
  return
}

// -----

!z = tensor<8x8xf32, #tpsp.idx<s, t, local>>
// (P5)
func.func @tile_of_no_index(%z: !z) {
  // expected-error @+1 {{has a tile of 'u', which is no index of the result, [s, t, local]}}
  tpsp.dropout %z {rate = 0.1, tile = #tpsp.tile<index = "u", extent = 8, shift = 0, offset = 0, axes = []>} : !z
  return
}

// -----

!z = tensor<8x8xf32, #tpsp.idx<s, t, local>>
// (P5)
func.func @tile_before_the_first(%z: !z) {
  // expected-error @+1 {{has a tile of 8 positions, shifted by 0 from -4}}
  tpsp.dropout %z {rate = 0.1, tile = #tpsp.tile<index = "t", extent = 8, shift = 0, offset = -4, axes = []>} : !z
  return
}
