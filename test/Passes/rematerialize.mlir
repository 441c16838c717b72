// Values that are not kept are made again in the backward pass, from kept ones.
// RUN: tpsp-opt %s --tpsp-rematerialize=rematerialize=selective | FileCheck %s --check-prefixes=CHECK,SELECTIVE
// RUN: tpsp-opt %s --tpsp-rematerialize=rematerialize=full | FileCheck %s --check-prefixes=CHECK,FULL
// By default only free values are made again.
// RUN: tpsp-opt %s --tpsp-rematerialize | FileCheck %s --check-prefix=FREE
// RUN: tpsp-opt %s --tpsp-rematerialize=rematerialize=none | FileCheck %s --check-prefix=FREE
// RUN: tpsp-opt %s --tpsp-rematerialize=rematerialize=selective --remarks-filter='tpsp-rematerialize' 2>&1 | FileCheck %s --check-prefix=REMARK

!x = tensor<8x16xf32, #tpsp.idx<s, d>>
!t = tensor<8x16xf32, #tpsp.idx<t, d>>

// Redone once, before its first use in the backward pass, and marked. Values
// without a mark are kept, and so are arguments.
// CHECK-LABEL: func.func @marked(
// CHECK-SAME: %[[X:[^:]*]]: {{.*}}, %[[G:[^:]*]]: tensor
//      CHECK: %[[A:.*]] = tpsp.exp %[[X]] :
// CHECK-NEXT: %[[B:.*]] = tpsp.tanh %[[A]] {tpsp.recompute}
// CHECK-NEXT: %[[Y:.*]] = tpsp.sqrt %[[B]] :
// SELECTIVE-NEXT: %[[G1:.*]] = tpsp.mul %[[G]], %[[A]] {tpsp.origin = #tpsp.origin<backward>}
// SELECTIVE-NEXT: %[[B2:.*]] = tpsp.tanh %[[A]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
// SELECTIVE-NEXT: %[[G2:.*]] = tpsp.mul %[[G1]], %[[B2]] {tpsp.origin = #tpsp.origin<backward>}
// SELECTIVE-NEXT: tpsp.mul %[[G2]], %[[B2]] {tpsp.origin = #tpsp.origin<backward>}
// FULL-NEXT: %[[A2:.*]] = tpsp.exp %[[X]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
// FULL-NEXT: %[[G1:.*]] = tpsp.mul %[[G]], %[[A2]] {tpsp.origin = #tpsp.origin<backward>}
// FULL-NEXT: %[[B2:.*]] = tpsp.tanh %[[A2]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
// FULL-NEXT: %[[G2:.*]] = tpsp.mul %[[G1]], %[[B2]] {tpsp.origin = #tpsp.origin<backward>}
// FULL-NEXT: tpsp.mul %[[G2]], %[[B2]] {tpsp.origin = #tpsp.origin<backward>}
// CHECK-NEXT: return %[[Y]]
// FREE-LABEL: func.func @marked(
//      FREE: %[[FREE_A:.*]] = tpsp.exp
//      FREE: tpsp.tanh %[[FREE_A]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
//  FREE-NOT: tpsp.origin = #tpsp.origin<recomputed>
// FREE-LABEL: func.func @chain(
//  FREE-NOT: tpsp.origin = #tpsp.origin<recomputed>
// REMARK: rematerialize.mlir:[[@LINE+3]]:{{.*}} [Passed] recomputed | Category:tpsp-rematerialize | {{.*}}rematerialised for the backward pass{{.*}}tensor=tanh
func.func @marked(%x: !x, %g: !x {tpsp.cotangent_of = 0}) -> (!x, !x) {
  %a = tpsp.exp %x : !x
  %b = tpsp.tanh %a {tpsp.recompute} : !x
  %y = tpsp.sqrt %b : !x
  %g1 = tpsp.mul %g, %a {tpsp.origin = #tpsp.origin<backward>} : !x
  %g2 = tpsp.mul %g1, %b {tpsp.origin = #tpsp.origin<backward>} : !x
  %g3 = tpsp.mul %g2, %b {tpsp.origin = #tpsp.origin<backward>} : !x
  return %y, %g3 : !x, !x
}

// A chain of marked operations, and a view of one: the view's bytes are not
// kept either. A view of a kept value stays.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[X:[^:]*]]: {{.*}}, %[[G:[^:]*]]: tensor
// SELECTIVE: %[[KEPT:.*]] = tpsp.rename %{{.*}} : tensor<8x16xf32, #tpsp.idx<s, d>>
// SELECTIVE: %[[A:.*]] = tpsp.exp %{{.*}} {tpsp.origin = #tpsp.origin<backward, recomputed>}
// SELECTIVE-NEXT: %[[B:.*]] = tpsp.tanh %[[A]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
// SELECTIVE-NEXT: %[[V:.*]] = tpsp.rename %[[B]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
// SELECTIVE-NEXT: %[[G1:.*]] = tpsp.mul %[[G]], %[[V]] {tpsp.origin = #tpsp.origin<backward>}
// SELECTIVE-NEXT: tpsp.mul %[[G1]], %[[KEPT]] {tpsp.origin = #tpsp.origin<backward>}
func.func @chain(%x: !x, %g: !t {tpsp.cotangent_of = 0}) -> (!t, !t) {
  %k = tpsp.neg %x : !x
  %w = tpsp.rename %k : !x -> !t
  %a = tpsp.exp %k {tpsp.recompute} : !x
  %b = tpsp.tanh %a {tpsp.recompute} : !x
  %v = tpsp.rename %b : !x -> !t
  %y = tpsp.mul %v, %w : !t
  %g1 = tpsp.mul %g, %v {tpsp.origin = #tpsp.origin<backward>} : !t
  %g2 = tpsp.mul %g1, %w {tpsp.origin = #tpsp.origin<backward>} : !t
  return %y, %g2 : !t, !t
}

// Values that the backward pass does not use are not redone. Returned values
// exist anyway.
// CHECK-LABEL: func.func @unused(
// CHECK: tpsp.exp
// CHECK-NEXT: %[[Y:.*]] = tpsp.tanh
// SELECTIVE-NEXT: tpsp.tanh {{.*}} {tpsp.origin = #tpsp.origin<backward, recomputed>}
// FULL-NEXT: tpsp.mul %{{.*}}, %[[Y]] {tpsp.origin = #tpsp.origin<backward>}
// CHECK-NOT: tpsp.exp
// CHECK: return
func.func @unused(%x: !x, %g: !x {tpsp.cotangent_of = 0}) -> (!x, !x) {
  %a = tpsp.exp %x : !x
  %y = tpsp.tanh %a {tpsp.recompute} : !x
  %g1 = tpsp.mul %g, %y {tpsp.origin = #tpsp.origin<backward>} : !x
  return %y, %g1 : !x, !x
}

// Values for the backward pass only are no longer made in the forward pass.
// CHECK-LABEL: func.func @dead(
// CHECK-NEXT: %[[Y:.*]] = tpsp.neg
// CHECK-NEXT: tpsp.exp {{.*}} {tpsp.origin = #tpsp.origin<backward, recomputed>}
// CHECK-NEXT: tpsp.tanh {{.*}} {tpsp.origin = #tpsp.origin<backward, recomputed>}
// CHECK-NEXT: tpsp.mul
// CHECK-NEXT: return
func.func @dead(%x: !x, %g: !x {tpsp.cotangent_of = 0}) -> (!x, !x) {
  %a = tpsp.exp %x {tpsp.recompute} : !x
  %b = tpsp.tanh %a {tpsp.recompute} : !x
  %y = tpsp.neg %x : !x
  %g1 = tpsp.mul %g, %b {tpsp.origin = #tpsp.origin<backward>} : !x
  return %y, %g1 : !x, !x
}

// A function without a backward pass stays as it is.
// CHECK-LABEL: func.func @forward(
// CHECK-NEXT: tpsp.exp {{.*}} {tpsp.recompute}
// CHECK-NEXT: tpsp.tanh
// CHECK-NEXT: return
func.func @forward(%x: !x) -> !x {
  %a = tpsp.exp %x {tpsp.recompute} : !x
  %b = tpsp.tanh %a : !x
  return %b : !x
}

// A value is free if it is made element by element of one tensor that is kept
// anyway (%u, of %x; not %w, of %a, which is not kept). Only loops may read it, no
// product (%v).
// FREE-LABEL: func.func @free(
// FREE-SAME: %[[X:[^:]*]]: {{.*}}, %[[M:[^:]*]]: {{.*}}, %[[G:[^:]*]]: tensor
//      FREE: %[[V:.*]] = tpsp.silu %[[X]] :
// FREE-NEXT: %[[A:.*]] = tpsp.exp %[[M]] :
// FREE-NEXT: %[[W:.*]] = tpsp.sqrt %[[A]] :
//      FREE: %[[U:.*]] = tpsp.tanh %[[X]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
// FREE-NEXT: tpsp.mul %{{.*}}, %[[U]] {tpsp.origin = #tpsp.origin<backward>}
// FREE-NEXT: tpsp.mul %{{.*}}, %[[W]] {tpsp.origin = #tpsp.origin<backward>}
//      FREE: tpsp.einsum %[[V]], %{{.*}} {tpsp.origin = #tpsp.origin<backward>}
// FREE-NOT: tpsp.origin = #tpsp.origin<recomputed>
func.func @free(%x: !x, %m: !x, %g: !x {tpsp.cotangent_of = 0})
    -> (!x, !x, tensor<16x16xf32, #tpsp.idx<d, e>>) {
  %v = tpsp.silu %x : !x
  %a = tpsp.exp %m : !x
  %w = tpsp.sqrt %a : !x
  %u = tpsp.tanh %x : !x
  %y = tpsp.mul %w, %u : !x
  %g1 = tpsp.mul %g, %x {tpsp.origin = #tpsp.origin<backward>} : !x
  %g2 = tpsp.mul %g1, %u {tpsp.origin = #tpsp.origin<backward>} : !x
  %g3 = tpsp.mul %g2, %w {tpsp.origin = #tpsp.origin<backward>} : !x
  %r = tpsp.rename %g3 {tpsp.origin = #tpsp.origin<backward>} : !x -> tensor<8x16xf32, #tpsp.idx<s, e>>
  %p = tpsp.einsum %v, %r {tpsp.origin = #tpsp.origin<backward>} : (!x, tensor<8x16xf32, #tpsp.idx<s, e>>) -> tensor<16x16xf32, #tpsp.idx<d, e>>
  return %y, %g3, %p : !x, !x, tensor<16x16xf32, #tpsp.idx<d, e>>
}

// A value is also free if it is made of a smaller tensor and of narrow ones,
// such as a row's level. The narrow ones are kept. It is not free if made of an
// equally large tensor (%e), of two wide ones (%p), or if it awaits a sum over
// ranks (%q).
tpsp.mesh @mesh <tp = 2>
!h = tensor<8x16xbf16, #tpsp.idx<s, d>>
!r = tensor<8xf32, #tpsp.idx<s>>
!sum = tensor<8xf32, #tpsp.idx<s | sum@tp>>
// FREE-LABEL: func.func @smaller(
// FREE-SAME: %[[H:[^:]*]]: {{.*}}, %[[L:[^:]*]]: {{.*}}, %[[S:[^:]*]]: {{.*}}, %[[G:[^:]*]]: tensor
//      FREE: %[[X:.*]] = tpsp.convert %[[H]] : tensor<8x16xbf16
// FREE-NEXT: %[[SHIFTED:.*]] = tpsp.sub %[[X]], %[[L]] :
// FREE-NEXT: %[[Q:.*]] = tpsp.add %[[X]], %[[S]] :
// FREE-NEXT: %[[E:.*]] = tpsp.exp %[[SHIFTED]] :
//      FREE: %[[X2:.*]] = tpsp.convert %[[H]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
// FREE-NEXT: %[[SHIFTED2:.*]] = tpsp.sub %[[X2]], %[[L]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
// FREE-NEXT: tpsp.mul %[[G]], %[[SHIFTED2]] {tpsp.origin = #tpsp.origin<backward>}
// FREE-NOT: tpsp.origin = #tpsp.origin<recomputed>
func.func @smaller(%h: !h, %level: !r, %sum: !sum, %g: !x {tpsp.cotangent_of = 0}) -> (!x, !x) {
  %x = tpsp.convert %h : !h -> !x
  %shifted = tpsp.sub %x, %level : (!x, !r) -> !x
  %q = tpsp.add %x, %sum : (!x, !sum) -> !x
  %e = tpsp.exp %shifted : !x
  %p = tpsp.mul %e, %q : !x
  %y = tpsp.neg %p : !x
  %g1 = tpsp.mul %g, %shifted {tpsp.origin = #tpsp.origin<backward>} : !x
  %g2 = tpsp.mul %g1, %q {tpsp.origin = #tpsp.origin<backward>} : !x
  %g3 = tpsp.mul %g2, %p {tpsp.origin = #tpsp.origin<backward>} : !x
  return %y, %g3 : !x, !x
}
