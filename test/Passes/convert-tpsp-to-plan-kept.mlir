// Operations that stay separate because a work item would keep too much.
// RUN: tpsp-opt %s --split-input-file --convert-tpsp-to-plan="wide-sums=false kept-bytes=576" | FileCheck %s --check-prefixes=CHECK,ROOM
// RUN: tpsp-opt %s --split-input-file --convert-tpsp-to-plan="wide-sums=false kept-bytes=575" | FileCheck %s --check-prefixes=CHECK,FULL
// RUN: tpsp-opt %s --split-input-file --convert-tpsp-to-plan=wide-sums=false | FileCheck %s --check-prefix=ANY

// %e has 8 x 16 numbers for each s, and %t 16: 576 bytes.
// CHECK-LABEL: plan.program @heads
// ROOM-COUNT-1: plan.kernel
// FULL-COUNT-2: plan.kernel
// CHECK-NOT: plan.kernel
// ANY-LABEL: plan.program @heads
// ANY-COUNT-1: plan.kernel
// ANY-NOT: plan.kernel
!e = tensor<96x8x16xf32, #tpsp.idx<s, h, k>>
!t = tensor<96x16xf32, #tpsp.idx<s, k>>
func.func @heads(%x: !e) -> !e {
  %e = tpsp.exp %x : !e
  %t = tpsp.reduce %e {kind = "sum"} : (!e) -> !t
  %y = tpsp.mul %e, %t : (!e, !t) -> !e
  return %y : !e
}

// -----

// In bf16 a row is kept as arithmetic has it.
// CHECK-LABEL: plan.program @half
// ROOM-COUNT-1: plan.kernel
// FULL-COUNT-2: plan.kernel
// CHECK-NOT: plan.kernel
// ANY-LABEL: plan.program @half
!e = tensor<96x8x16xbf16, #tpsp.idx<s, h, k>>
!t = tensor<96x16xbf16, #tpsp.idx<s, k>>
func.func @half(%x: !e) -> !e {
  %e = tpsp.exp %x : !e
  %t = tpsp.reduce %e {kind = "sum"} : (!e) -> !t
  %y = tpsp.mul %e, %t : (!e, !t) -> !e
  return %y : !e
}

// -----

// Every thread only looks at its own elements of a row that is summed whole,
// however long it is.
// CHECK-LABEL: plan.program @logits
// CHECK: plan.kernel
// CHECK-NOT: plan.kernel
// ANY-LABEL: plan.program @logits
!e = tensor<96x4099xf32, #tpsp.idx<s, v>>
!t = tensor<96xf32, #tpsp.idx<s>>
func.func @logits(%x: !e) -> !e {
  %e = tpsp.exp %x : !e
  %t = tpsp.reduce %e {kind = "sum"} : (!e) -> !t
  %y = tpsp.mul %e, %t : (!e, !t) -> !e
  return %y : !e
}

// -----

// An item of the sum is a position of d, and one thread would keep all of %e
// that it has: 2048 numbers.
// CHECK-LABEL: plan.program @columns
// CHECK-COUNT-2: plan.kernel
// CHECK-NOT: plan.kernel
// ANY-LABEL: plan.program @columns
// ANY-COUNT-1: plan.kernel
// ANY-NOT: plan.kernel
!x = tensor<4x2048x128xf32, #tpsp.idx<b, s, d>>
!e = tensor<2048x128xf32, #tpsp.idx<s, d>>
!d = tensor<128xf32, #tpsp.idx<d>>
func.func @columns(%x: !x, %m: !e) -> !d {
  %e = tpsp.exp %m : !e
  %p = tpsp.mul %x, %e : (!x, !e) -> !x
  %z = tpsp.reduce %p {kind = "sum"} : (!x) -> !d
  return %z : !d
}
