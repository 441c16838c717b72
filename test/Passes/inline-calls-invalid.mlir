// RUN: tpsp-opt %s --tpsp-inline-calls --verify-diagnostics --split-input-file

!x = tensor<4x8xf32, #tpsp.idx<b, d>>
func.func private @even(%x: !x) -> !x {
  %y = call @odd(%x) : (!x) -> !x
  return %y : !x
}
func.func private @odd(%x: !x) -> !x {
  // expected-error @+1 {{calls '@even' from within it, which never ends}}
  %y = call @even(%x) : (!x) -> !x
  return %y : !x
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>
func.func private @elsewhere(!x) -> !x
func.func @f(%x: !x) -> !x {
  // expected-error @+1 {{calls '@elsewhere', which has no body; write the function in this file}}
  %y = call @elsewhere(%x) : (!x) -> !x
  return %y : !x
}

// -----

!x = tensor<4x8xf32, #tpsp.idx<b, d>>
// expected-error @+1 {{has control flow; tpsp programs are straight-line functions}}
func.func private @jump(%x: !x) -> !x {
  cf.br ^end
^end:
  return %x : !x
}
func.func @f(%x: !x) -> !x {
  %y = call @jump(%x) : (!x) -> !x
  return %y : !x
}
