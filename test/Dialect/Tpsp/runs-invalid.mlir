// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

!p = tensor<2x3xf32, #tpsp.idx<b, p>>
!s = tensor<2x8xf32, #tpsp.idx<b, s>>

// (B4) nothing
func.func @f() {
  // expected-error @+1 {{takes 1 or more operands, not 0}}
  %0 = tpsp.concat {index = "s"} : () -> !s
  return
}

// -----

!p = tensor<2x3xf32, #tpsp.idx<b, p>>
!s = tensor<2x8xf32, #tpsp.idx<b, s>>

// (B4) no such index
func.func @f(%p: !p) {
  // expected-error @+1 {{index = "t" is not an index of the result, [b, s]}}
  %0 = tpsp.concat %p, %p {index = "t"} : !p -> !s
  return
}

// -----

!r = tensor<3x2xf32, #tpsp.idx<p, b>>
!s = tensor<2x6xf32, #tpsp.idx<b, s>>

// (B4) another order
func.func @f(%r: !r) {
  // expected-error @+1 {{operand #0 has indices [p, b], which must be those of the result, [b, s], but for another name in place of 's' (tpsp.rename)}}
  %0 = tpsp.concat %r, %r {index = "s"} : !r -> !s
  return
}

// -----

!p = tensor<2x3xf32, #tpsp.idx<b, p>>
!s = tensor<2x8xf32, #tpsp.idx<b, s>>

// (B4) too few positions
func.func @f(%p: !p) {
  // expected-error @+1 {{has operands of 6 positions, but 's' has extent 8}}
  %0 = tpsp.concat %p, %p {index = "s"} : !p -> !s
  return
}

// -----

!p = tensor<2x3xf32, #tpsp.idx<b, p>>
!s = tensor<2x8xf32, #tpsp.idx<b, s>>

// (B5) of two
func.func @f(%s: !s) {
  // expected-error @+1 {{takes 1 operands, not 2}}
  %0 = tpsp.cut %s, %s {index = "s", from = 0} : !s -> !p
  return
}

// -----

!p = tensor<2x3xf32, #tpsp.idx<b, p>>
!s = tensor<2x8xf32, #tpsp.idx<b, s>>

// (B5) no such index
func.func @f(%s: !s) {
  // expected-error @+1 {{index = "p" is not an index of the operand, [b, s]}}
  %0 = tpsp.cut %s {index = "p", from = 0} : !s -> !p
  return
}

// -----

!p = tensor<2x3xf32, #tpsp.idx<b, p>>
!s = tensor<2x8xf32, #tpsp.idx<b, s>>

// (B6) beyond the end
func.func @f(%s: !s) {
  // expected-error @+1 {{from = 6 and 3 positions do not lie in 's', which has extent 8}}
  %0 = tpsp.cut %s {index = "s", from = 6} : !s -> !p
  return
}

// -----

!p = tensor<2x3xf32, #tpsp.idx<b, p>>
!s = tensor<2x8xf32, #tpsp.idx<b, s>>

// (B6) before the beginning
func.func @f(%s: !s) {
  // expected-error @+1 {{from = -1 and 3 positions do not lie in 's', which has extent 8}}
  %0 = tpsp.cut %s {index = "s", from = -1} : !s -> !p
  return
}

// -----

!p = tensor<2x3xf32, #tpsp.idx<b, p>>
!s = tensor<2x8xf32, #tpsp.idx<b, s>>

// (B7) the operand's index
func.func @f(%p: !p) {
  // expected-error @+1 {{index = "p" is not an index of the result, [b, s]}}
  %0 = tpsp.pad %p {index = "p"} : !p -> !s
  return
}

// -----

!p = tensor<2x3xf32, #tpsp.idx<b, p>>
!s = tensor<2x8xf32, #tpsp.idx<b, s>>

// (B8) beyond the end
func.func @f(%p: !p) {
  // expected-error @+1 {{before = 6 and 3 positions do not lie in 's', which has extent 8}}
  %0 = tpsp.pad %p {index = "s", before = 6} : !p -> !s
  return
}

// -----

!p = tensor<2x3xi32, #tpsp.idx<b, p>>
!s = tensor<2x8xi32, #tpsp.idx<b, s>>

// (B8) integers
func.func @f(%p: !p) {
  // expected-error @+1 {{value = 5.000000e-01 pads integers; only 0 does}}
  %0 = tpsp.pad %p {index = "s", value = 0.5} : !p -> !s
  return
}

// -----

!s = tensor<2x8xf32, #tpsp.idx<b, s>>

// An iota along an index that is not there
func.func @f() {
  // expected-error @+1 {{asks for the position along 't', which is no index of the result, [b, s]}}
  %0 = tpsp.iota {index = "t"} : () -> !s
  return
}
