// The operations that become one kernel, and the kernel's parameters.
// RUN: tpsp-opt %s --convert-tpsp-to-plan --split-input-file | FileCheck %s

// A chain of pointwise operations is one loop over a row. Values
// without other readers are never stored. Equal chains are one
// function.
// CHECK-LABEL: func.func private @kernel0_exp_square_add(
// CHECK: scf.for
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK-LABEL: plan.program @chain
// CHECK: plan.kernel @kernel0_exp_square_add(%{{.+}}, %{{.+}}) to(%{{.+}}) {grid = 4
// CHECK-NOT: plan.kernel
// CHECK-LABEL: func.func private @kernel1_exp_neg_add(
// CHECK-LABEL: plan.program @other_chain
// CHECK: plan.kernel @kernel1_exp_neg_add
// CHECK-LABEL: plan.program @same_chain
// CHECK: plan.kernel @kernel0_exp_square_add(
!x = tensor<4x6xf32, #tpsp.idx<s, d, local>>
func.func @chain(%x: !x, %y: !x) -> !x {
  %a = tpsp.exp %x : !x
  %b = tpsp.square %a : !x
  %c = tpsp.add %b, %y : !x
  return %c : !x
}
func.func @other_chain(%x: !x, %y: !x) -> !x {
  %a = tpsp.exp %x : !x
  %b = tpsp.neg %a : !x
  %c = tpsp.add %b, %y : !x
  return %c : !x
}
func.func @same_chain(%unused: !x, %x: !x, %y: !x) -> !x {
  %a = tpsp.exp %y : !x
  %b = tpsp.square %a : !x
  %c = tpsp.add %b, %x : !x
  return %c : !x
}

// -----

// A kernel ends where a matmul or a collective needs its result; others do not
// end it.
// CHECK-LABEL: plan.program @interrupted
// CHECK: plan.all_reduce
// CHECK-NEXT: plan.buffer "temporary"
// CHECK-NEXT: plan.kernel @kernel0_exp
// CHECK: plan.all_gather
// CHECK: plan.kernel @kernel1_add
tpsp.mesh @mesh <tp = 2>
!x = tensor<4x6xf32, #tpsp.idx<s@tp, d, local>>
!w = tensor<8x6xf32, #tpsp.idx<s, d, local>>
!p = tensor<8x6xf32, #tpsp.idx<s, d, local | sum@tp>>
func.func @interrupted(%x: !x, %p: !p) -> !w {
  %a = tpsp.exp %x : !x
  %r = tpsp.all_reduce %p ["tp"] : (!p) -> !w
  %g = tpsp.all_gather %a ["tp"] : !x -> !w
  %s = tpsp.add %g, %r : !w
  return %s : !w
}

// -----

// A norm is one kernel: sums of a row, then the row.
// CHECK-LABEL: func.func private @kernel0_
// CHECK: memref.alloca
// CHECK: linalg.fill
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: linalg.generic {{.*}}"parallel"
// CHECK-LABEL: plan.program @norm
// CHECK-COUNT-1: plan.kernel
// CHECK-SAME: grid = 4
// CHECK-NOT: plan.kernel
!n = tensor<4x6xf32, #tpsp.idx<s, d, local>>
!s = tensor<4xf32, #tpsp.idx<s, local>>
func.func @norm(%x: !n) -> !n {
  %a = tpsp.square %x : !n
  %b = tpsp.reduce %a : !n -> !s
  %c = tpsp.rsqrt %b : !s
  %d = tpsp.mul %x, %c : (!n, !s) -> !n
  return %d : !n
}

// -----

// A sum over rows is done in ranges of the innermost index.
// CHECK-LABEL: func.func private @kernel0_reduce(
// CHECK-SAME: memref<4x6xf32> {llvm.noalias}, %{{.+}}: memref<6xf32> {llvm.noalias}, %[[BEGIN:.+]]: index, %{{.+}}: index)
// CHECK-NOT: scf.for
// CHECK: memref.subview %{{.+}}[0, %[[BEGIN]]] [4, %{{.+}}] [1, 1]
// CHECK-LABEL: plan.program @columns
// CHECK: plan.kernel @kernel0_reduce{{.*}}grid = 6
!c = tensor<4x6xf32, #tpsp.idx<s, d, local>>
!d = tensor<6xf32, #tpsp.idx<d, local>>
func.func @columns(%x: !c) -> !d {
  %y = tpsp.reduce %x : !c -> !d
  return %y : !d
}

// -----

// An operation that asks for global positions is told where its rank's part
// starts: by the local extent and the axes, major to minor. A whole index
// starts at 0 everywhere.
// CHECK-LABEL: func.func private @kernel0_causal_mask(
// CHECK-SAME: %{{.+}}: index, %{{.+}}: index, %{{.+}}: index)
// CHECK-LABEL: plan.program @positions
// CHECK: plan.kernel {{.*}}positions = [array<i64: 4, 0, 0, 0, 1, 0>]
tpsp.mesh @mesh <cp = 2, tp = 3>
!q = tensor<4x24xf32, #tpsp.idx<s@tp@cp, t, local>>
func.func @positions(%x: !q) -> !q {
  %y = tpsp.causal_mask %x {query = "s", key = "t", fill = 0.0} : !q
  return %y : !q
}

// -----

// Arithmetic and sums are in f32 whatever is stored.
// CHECK-LABEL: func.func private @kernel0_square_reduce(%{{.+}}: memref<4x6xbf16>
// CHECK: memref.alloca() : memref<f32>
// CHECK: arith.extf
// CHECK: arith.mulf {{.*}} : f32
// CHECK: arith.addf {{.*}} : f32
// CHECK: arith.truncf
!b = tensor<4x6xbf16, #tpsp.idx<s, d, local>>
!e = tensor<4xbf16, #tpsp.idx<s, local>>
func.func @narrow(%x: !b) -> !e {
  %a = tpsp.square %x : !b
  %y = tpsp.reduce %a : !b -> !e
  return %y : !e
}

// -----

// Together with an operation on rows it would go by columns: it is separate.
// CHECK-LABEL: func.func private @kernel0_einsum(
// CHECK: memref.subview %{{.*}} [2, 8, %{{.*}}] [1, 1, 1] : memref<2x8x16xf32> to memref<2x8x?xf32
// CHECK-LABEL: plan.program @sum_beside_rows
// CHECK: plan.kernel @kernel0_einsum(%{{.*}}, %{{.*}}) to(%{{[0-9]+}}) {grid = 16
// CHECK: plan.kernel @kernel1_mul(%{{.*}}, %{{.*}}) to(%{{[0-9]+}}) {grid = 16
// CHECK-NOT: plan.kernel
!rows = tensor<2x8x16xf32, #tpsp.idx<b, s, d, local>>
!gain = tensor<16xf32, #tpsp.idx<d, local>>
func.func @sum_beside_rows(%g: !rows, %x: !rows, %gain: !gain) -> (!gain, !rows) {
  %sum = tpsp.einsum %g, %x : (!rows, !rows) -> !gain
  %scaled = tpsp.mul %g, %gain : (!rows, !gain) -> !rows
  return %sum, %scaled : !gain, !rows
}
