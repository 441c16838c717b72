// RUN: tpsp-opt %s --tpsp-inline-calls | FileCheck %s
// RUN: tpsp-opt %s --tpsp-inline-calls --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=PLACES
!x = tensor<4x8xf32, #tpsp.idx<b, d>>

// Private functions are gone, whether called or not.
// CHECK-NOT: @inner
// CHECK-NOT: @unused
func.func private @unused(%x: !x) -> !x {
  return %x : !x
}

// A caller may come before its callee, and return its own argument.
func.func private @outer(%x: !x) -> (!x, !x) {
  %y = call @inner(%x) : (!x) -> !x
  %z = tpsp.tanh %y : !x
  return %z, %x : !x, !x
}
func.func private @inner(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}

// CHECK-LABEL: func.func @model(%arg0
// CHECK-NEXT:    %[[A:.*]] = tpsp.exp %arg0
// CHECK-NEXT:    %[[B:.*]] = tpsp.tanh %[[A]]
// CHECK-NEXT:    %[[C:.*]] = tpsp.exp %arg0
// CHECK-NEXT:    %[[D:.*]] = tpsp.tanh %[[C]]
// CHECK-NEXT:    %[[E:.*]] = tpsp.exp %arg0
// CHECK-NEXT:    return %[[B]], %[[D]], %[[E]]

// An operation's location is where it is written, within the calls that led to it.
// PLACES: tpsp.exp {{.*}} loc(callsite(callsite("{{.*}}":19:{{[0-9]+}} at "{{.*}}":14:{{[0-9]+}}) at "{{.*}}":[[@LINE+5]]:{{[0-9]+}}))
// A public function is kept, and is inlined all the same.
// CHECK-LABEL: func.func @shared(
// CHECK-NEXT:    tpsp.exp
func.func @model(%x: !x) -> (!x, !x, !x) {
  %a, %b = call @outer(%x) : (!x) -> (!x, !x)
  %c, %d = call @outer(%b) : (!x) -> (!x, !x)
  %e = call @shared(%d) : (!x) -> !x
  return %a, %c, %e : !x, !x, !x
}
func.func @shared(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}
