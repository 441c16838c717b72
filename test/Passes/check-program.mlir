// RUN: tpsp-opt %s --tpsp-check-program --verify-diagnostics --split-input-file

// A misspelt index is summed over, on each operand separately.

!x = tensor<4x8xf32, #tpsp.idx<b, d>>
!w = tensor<16x8xf32, #tpsp.idx<e, f>>
!u = tensor<16x8xf32, #tpsp.idx<e, d>>
!y = tensor<4x16xf32, #tpsp.idx<b, e>>
!s = tensor<4xf32, #tpsp.idx<b>>

tpsp.mesh @mesh <tp = 2>
func.func @f(%x: !x, %w: !w, %u: !u) -> (!y, !y, !s) {
  // expected-warning @+2 {{index 'f' is on operand #0 alone, and is summed over before the product}}
  // expected-warning @+1 {{index 'd' is on operand #1 alone}}
  %y = tpsp.einsum %w, %x : (!w, !x) -> !y
  %z = tpsp.einsum %u, %x : (!u, !x) -> !y
  // One operand's indices are all its own.
  %s = tpsp.einsum %x : (!x) -> !s
  return %y, %z, %s : !y, !y, !s
}

// -----

tpsp.mesh @mesh <tp = 2>
!x = tensor<4x8xf32, #tpsp.idx<b, d>>
func.func @f(%x: !x) -> !x {
  // expected-error @+1 {{'arith.addf' op is no operation of tpsp; a program is made of those}}
  %y = arith.addf %x, %x : !x
  return %y : !x
}

// -----

tpsp.mesh @mesh <tp = 2>
!x = tensor<4x8xf32, #tpsp.idx<b, d>>
func.func private @elsewhere(!x) -> !x
func.func @f(%x: !x) -> !x {
  // expected-error @+1 {{calls '@elsewhere', which has no body; write the function in this file}}
  %y = call @elsewhere(%x) : (!x) -> !x
  return %y : !x
}

// -----

tpsp.mesh @mesh <tp = 2>
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

// A program nested in a module is checked, too.

module {
  // expected-error @+1 {{a program within a module, or beside another, is not compiled; write one in a file, or '}}
  module {
    func.func @f(%x: tensor<4x8xf32, #tpsp.idx<b, d>>) {
      return
    }
  }
}

// -----

// So is a program without any operation left.

// expected-error @+1 {{the program has no function with a body; write one, such as func.func @name(...)}}
module {
  func.func private @elsewhere(tensor<4x8xf32, #tpsp.idx<b, d>>)
}
