// Marks of operations are unit attributes, but for origins. Names that none has
// are refused.
// RUN: tpsp-opt %s --split-input-file --verify-diagnostics
!x = tensor<8xf32, #tpsp.idx<d>>

func.func @backward(%x: !x) {
  // expected-error @below {{tpsp.origin is an origin, such as #tpsp.origin<backward>}}
  %y = tpsp.exp %x {tpsp.origin = 1} : !x
  return
}

// -----

!x = tensor<8xf32, #tpsp.idx<d>>
func.func @recompute(%x: !x) {
  // expected-error @below {{tpsp.recompute takes no value}}
  %y = tpsp.exp %x {tpsp.recompute = "yes"} : !x
  return
}

// -----

!x = tensor<8xf32, #tpsp.idx<d>>
func.func @unknown_entry(%x: !x) {
  // expected-error @below {{unknown entry 'forwards' of an origin; known are backward, update, recomputed, part, chunk, stages and segment}}
  %y = tpsp.exp %x {tpsp.origin = #tpsp.origin<forwards>} : !x
  return
}

// -----

!x = tensor<8xf32, #tpsp.idx<d>>
func.func @misspelled(%x: !x) {
  // expected-error @below {{'tpsp.exp' op tpsp.recomptue is an unknown attribute; known are 'tpsp.recompute' and 'tpsp.overlap'}}
  %y = tpsp.exp %x {tpsp.recomptue} : !x
  return
}
