// Values that are computed in the later loops of a kernel that read them.
// RUN: tpsp-opt %s --split-input-file --convert-tpsp-to-plan | FileCheck %s

!x = tensor<96x64xf32, #tpsp.idx<s, e, local>>
!n = tensor<96xf32, #tpsp.idx<s, local>>

// The exponential waits for the row's number, and no row is kept.
// CHECK-LABEL: func.func private @{{.*}}exp
// CHECK: memref.alloca() : memref<f32>
// CHECK-NOT: memref.alloca
// CHECK: math.tanh
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: arith.mulf
// CHECK: return
// CHECK-LABEL: plan.program @waits
func.func @waits(%x: !x, %n: !n) -> !x {
  %r = tpsp.tanh %n : !n
  %e = tpsp.exp %x : !x
  %y = tpsp.mul %e, %r : (!x, !n) -> !x
  return %y : !x
}

// -----

!x = tensor<96x64xf32, #tpsp.idx<s, e, local>>
!n = tensor<96xf32, #tpsp.idx<s, local>>

// Not if its own loop reads it too: the row is kept, and there is one
// exponential.
// CHECK-LABEL: func.func private @{{.*}}exp
// CHECK-DAG: memref.alloca() : memref<64xf32>
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK: return
// CHECK-LABEL: plan.program @also_summed
func.func @also_summed(%x: !x) -> !x {
  %e = tpsp.exp %x : !x
  %n = tpsp.reduce %e : !x -> !n
  %r = tpsp.tanh %n : !n
  %y = tpsp.mul %e, %r : (!x, !n) -> !x
  return %y : !x
}

// -----

!h = tensor<8x30000xbf16, #tpsp.idx<s, v, local>>
!x = tensor<8x30000xf32, #tpsp.idx<s, v, local>>
!n = tensor<8xf32, #tpsp.idx<s, local>>

// A row of 30000 fits into no block. Both loops convert it.
// CHECK-LABEL: func.func private @{{.*}}convert
// CHECK-NOT: memref.alloca() : memref<30000
// CHECK-COUNT-2: arith.extf
// CHECK: return
// CHECK-LABEL: plan.program @long
func.func @long(%h: !h) -> !h {
  %x = tpsp.convert %h : !h -> !x
  %n = tpsp.reduce %x : !x -> !n
  %d = tpsp.sub %x, %n : (!x, !n) -> !x
  %y = tpsp.convert %d : !x -> !h
  return %y : !h
}

// -----

!h = tensor<8x300xbf16, #tpsp.idx<s, v, local>>
!x = tensor<8x300xf32, #tpsp.idx<s, v, local>>
!n = tensor<8xf32, #tpsp.idx<s, local>>

// A short one is kept.
// CHECK-LABEL: func.func private @{{.*}}convert
// CHECK-DAG: memref.alloca() : memref<300xf32>
// CHECK: arith.extf
// CHECK-NOT: arith.extf
// CHECK: return
// CHECK-LABEL: plan.program @short
func.func @short(%h: !h) -> !h {
  %x = tpsp.convert %h : !h -> !x
  %n = tpsp.reduce %x : !x -> !n
  %d = tpsp.sub %x, %n : (!x, !n) -> !x
  %y = tpsp.convert %d : !x -> !h
  return %y : !h
}
