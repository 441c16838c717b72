// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

!x = tensor<2x8xf32, #tpsp.idx<b, s>>
!t = tensor<8x2xf32, #tpsp.idx<s, b>>

// (K1) another order
func.func @f(%x: !x) {
  // expected-error @+1 {{has result indices [s, b], but they must be those of operand #0, [b, s]}}
  %0 = tpsp.cumsum %x {index = "s"} : !x -> !t
  return
}

// -----

!x = tensor<2x8xf32, #tpsp.idx<b, s>>

// (K1) no such index
func.func @f(%x: !x) {
  // expected-error @+1 {{index = "t" is not an index of operand #0, [b, s]}}
  %0 = tpsp.delay %x {index = "t", by = 2} : !x
  return
}

// -----

!x = tensor<2x8xf32, #tpsp.idx<b, s>>

// (K2) without a decay
func.func @f(%x: !x) {
  // expected-error @+1 {{takes 2 operands, not 1}}
  %0 = tpsp.scan %x {index = "s"} : !x
  return
}

// -----

!x = tensor<2x8xf32, #tpsp.idx<b, s>>
!a = tensor<2xf32, #tpsp.idx<b>>

// (K2) one decay for all positions
func.func @f(%x: !x, %a: !a) {
  // expected-error @+1 {{index = "s" is not an index of operand #1, [b]}}
  %0 = tpsp.scan %x, %a {index = "s"} : (!x, !a) -> !x
  return
}

// -----

!x = tensor<2x8xf32, #tpsp.idx<b, s>>
!a = tensor<8x3xf32, #tpsp.idx<s, n>>

// (K2) more states than x has
func.func @f(%x: !x, %a: !a) {
  // expected-error @+1 {{has a decay of indices [s, n], of which 'n' is none of operand #0, [b, s]; broadcast that one first (tpsp.broadcast)}}
  %0 = tpsp.scan %x, %a {index = "s"} : (!x, !a) -> !x
  return
}

// -----

!x = tensor<2x8xf32, #tpsp.idx<b, s>>

// (K3) of two
func.func @f(%x: !x) {
  // expected-error @+1 {{takes 1 operands, not 2}}
  %0 = tpsp.cumsum %x, %x {index = "s"} : !x
  return
}

// -----

!x = tensor<2x8xf32, #tpsp.idx<b, s>>

// (K3) of two
func.func @f(%x: !x) {
  // expected-error @+1 {{takes 1 operands, not 2}}
  %0 = tpsp.delay %x, %x {index = "s"} : !x
  return
}

// -----

tpsp.mesh @mesh <a = 2>
!x = tensor<2x8xf32, #tpsp.idx<b, s | sum@a>>
!y = tensor<8xf32, #tpsp.idx<s>>

// (I6) A recurrence is not linear in its decay, and does not let a sum wait.
func.func @f(%x: !x, %y: !y) {
  // expected-error @+1 {{operand #0 is partial over @a and 'tpsp.scan' is not linear in it}}
  %0 = tpsp.scan %x, %y {index = "s"} : (!x, !y) -> !x
  return
}

// -----

!x = tensor<2x8xf32, #tpsp.idx<b, s>>

// (K4) as far as the index is long
func.func @f(%x: !x) {
  // expected-error @+1 {{by = 8 hands nothing on along 's', which has extent 8}}
  %0 = tpsp.hand_on %x {index = "s", by = 8} : !x
  return
}

// -----

!x = tensor<2x8xf32, #tpsp.idx<b, s>>

// (K4) to itself
func.func @f(%x: !x) {
  // expected-error @+1 {{by = 0 hands nothing on along 's', which has extent 8}}
  %0 = tpsp.hand_on %x {index = "s", by = 0} : !x
  return
}
