// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

!q = tensor<8x4xf32, #tpsp.idx<s, k>>
!k = tensor<8x4xf32, #tpsp.idx<t, k>>
// (A5)
func.func @statistic_with_key(%q: !q, %k: !k) {
  // expected-error @+1 {{the statistic has indices [s, t], but a row of scores has [s]}}
  tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k"} : (!q, !k, !k) -> (!q, tensor<8x8xf32, #tpsp.idx<s, t>>)
  return
}

// -----

!q = tensor<8x4xf32, #tpsp.idx<s, k>>
!k = tensor<8x4xf32, #tpsp.idx<t, k>>
// (A5)
func.func @statistic_without_query(%q: !q, %k: !k) {
  // expected-error @+1 {{the statistic has indices [], but a row of scores has [s]}}
  tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k"} : (!q, !k, !k) -> (!q, tensor<f32, #tpsp.idx<>>)
  return
}

// -----

!q = tensor<8x4xbf16, #tpsp.idx<s, k>>
!k = tensor<8x4xbf16, #tpsp.idx<t, k>>
// (A5)
func.func @rounded_statistic(%q: !q, %k: !k) {
  // expected-error @+1 {{the statistic is of 'bf16', but what rows are normalised by is in 'f32'}}
  tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k"} : (!q, !k, !k) -> (!q, tensor<8xbf16, #tpsp.idx<s>>)
  return
}

// -----

!q = tensor<8x4xbf16, #tpsp.idx<s, k>>
!k = tensor<8x4xbf16, #tpsp.idx<t, k>>
// (I7)
func.func @mixed_result(%q: !q, %k: !k) {
  // expected-error @+1 {{has tensors of 'bf16' and of 'f32'; one operation computes in one type}}
  tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k"} : (!q, !k, !k) -> (tensor<8x4xf32, #tpsp.idx<s, k>>, tensor<8xf32, #tpsp.idx<s>>)
  return
}

// -----

!q = tensor<8x4xf32, #tpsp.idx<s, k>>
!k = tensor<8x4xf32, #tpsp.idx<t, k>>
!s = tensor<8xf32, #tpsp.idx<s>>
// (A6)
func.func @gradient_of_another(%q: !q, %k: !k, %s: !s) {
  // expected-error @+1 {{result #1 has indices [s, k], but they must be those of operand #1, [t, k]}}
  tpsp.attention_gradient %q, %k, %k, %q, %s, %q {query = "s", key = "t", feature = "k"} : (!q, !k, !k, !q, !s, !q) -> (!q, !q, !k)
  return
}

// -----

!q = tensor<8x4xf32, #tpsp.idx<s, k>>
!k = tensor<8x4xf32, #tpsp.idx<t, k>>
!s = tensor<8xf32, #tpsp.idx<s>>
// (A6)
func.func @gradient_without_the_result(%q: !q, %k: !k, %s: !s) {
  // expected-error @+1 {{operand #3 is attention's result, and has the indices of its gradient, [s, k], not [s]}}
  tpsp.attention_gradient %q, %k, %k, %s, %s, %q {query = "s", key = "t", feature = "k"} : (!q, !k, !k, !s, !s, !q) -> (!q, !k, !k)
  return
}

// -----

!q = tensor<8x4xf32, #tpsp.idx<s, k>>
!k = tensor<8x4xf32, #tpsp.idx<t, k>>
!s = tensor<8xf32, #tpsp.idx<s>>
func.func @notes_on_too_few(%q: !q, %k: !k, %s: !s) {
  // expected-error @+1 {{tpsp.results is a dictionary for each of 3 results}}
  tpsp.attention_gradient %q, %k, %k, %q, %s, %q {query = "s", key = "t", feature = "k", tpsp.results = [{}, {}]} : (!q, !k, !k, !q, !s, !q) -> (!q, !k, !k)
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

tpsp.mesh @mesh <cp = 2, tp = 1>
!k = tensor<4x4xf32, #tpsp.idx<t@cp, k, local>>
// (C5)
func.func @mirror_over_no_axis(%k: !k) {
  // expected-error @+1 {{names axis @dp, which the mesh does not have}}
  tpsp.mirror %k ["dp"] : !k
  return
}

// -----

tpsp.mesh @mesh <cp = 2, tp = 1>
!k = tensor<4x4xf32, #tpsp.idx<t@cp, k, local>>
// (C5)
func.func @mirror_of_one(%k: !k) {
  // expected-error @+1 {{is of a group of one rank, which has no other to exchange with; leave it out}}
  tpsp.mirror %k ["tp"] : !k
  return
}

// -----

tpsp.mesh @mesh <cp = 4>
!q = tensor<6x8xf32, #tpsp.idx<s@cp, k, local>>
!k = tensor<24x8xf32, #tpsp.idx<t, k, local>>
// (A10) of keys
func.func @tile_of_keys(%q: !q, %k: !k) {
  // expected-error @+1 {{has a tile of 't', and its rows are of 's'}}
  tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", causal, tile = #tpsp.tile<index = "t", extent = 6, shift = 0, offset = 0, axes = ["cp"]>} : (!q, !k, !k) -> !q
  return
}

// -----

tpsp.mesh @mesh <cp = 4>
!q = tensor<6x8xf32, #tpsp.idx<s, k>>
// (A10) before partition
func.func @global_rows(%q: !q, %k: tensor<6x8xf32, #tpsp.idx<t, k>>) {
  // expected-error @+1 {{has a tile, which is of one rank's shapes, but the result is global; run tpsp-partition first}}
  tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", causal, tile = #tpsp.tile<index = "s", extent = 6, shift = 0, offset = 0, axes = ["cp"]>} : (!q, tensor<6x8xf32, #tpsp.idx<t, k>>, tensor<6x8xf32, #tpsp.idx<t, k>>) -> !q
  return
}

// -----

tpsp.mesh @mesh <cp = 4>
!q = tensor<6x8xf32, #tpsp.idx<s@cp, k, local>>
!k = tensor<24x8xf32, #tpsp.idx<t, k, local>>
// (A10) over another mesh
func.func @rows_over_no_axis(%q: !q, %k: !k) {
  // expected-error @+1 {{has a tile over "tp", which is no axis of the mesh}}
  tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", causal, tile = #tpsp.tile<index = "s", extent = 6, shift = 0, offset = 0, axes = ["tp"]>} : (!q, !k, !k) -> !q
  return
}

// -----

tpsp.mesh @mesh <cp = 4>
!q = tensor<6x8xf32, #tpsp.idx<s@cp, k, local>>
!k = tensor<24x8xf32, #tpsp.idx<t, k, local>>
// (A10) on the last rank
func.func @rows_before_the_first(%q: !q, %k: !k) {
  // expected-error @+1 {{has a tile that is shifted by 0 and begins at 17 on the first rank and at -1 on the last; none of these is negative}}
  tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", causal, tile = #tpsp.tile<index = "s", extent = -6, shift = 0, offset = 17, axes = ["cp"]>} : (!q, !k, !k) -> !q
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

// -----

!q = tensor<8x2x4xf32, #tpsp.idx<s, h, k>>
!k = tensor<8x2x4xf32, #tpsp.idx<t, h, k>>
!s = tensor<2x8xf32, #tpsp.idx<h, s>>
!h = tensor<2xf32, #tpsp.idx<h>>
// (A13)
func.func @gradient_with_a_sink(%q: !q, %k: !k, %s: !s, %sink: !h) {
  // expected-error @+1 {{has a sink [h], which the result and the statistic already contain; remove it}}
  tpsp.attention_gradient %q, %k, %k, %q, %s, %q, %sink {query = "s", key = "t", feature = "k"} : (!q, !k, !k, !q, !s, !q, !h) -> (!q, !k, !k)
  return
}
