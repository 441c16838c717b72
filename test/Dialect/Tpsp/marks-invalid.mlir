// Marks of operations are unit attributes.
// RUN: tpsp-opt %s --split-input-file --verify-diagnostics
!x = tensor<8xf32, #tpsp.idx<d>>

func.func @backward(%x: !x) {
  // expected-error @below {{tpsp.backward takes no value}}
  %y = tpsp.exp %x {tpsp.backward = 1} : !x
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
func.func @recomputed(%x: !x) {
  // expected-error @below {{tpsp.recomputed takes no value}}
  %y = tpsp.exp %x {tpsp.recomputed = false} : !x
  return
}
