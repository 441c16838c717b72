// Products, views, arguments and results.
// RUN: tpsp-opt %s --convert-tpsp-to-plan --split-input-file | FileCheck %s

// A weight's matrix is read through its transpose; both are parameters of their
// own kind, named and numbered as in the function.
// CHECK-LABEL: plan.program @matmul attributes {axes = ["tp"], sizes = array<i64: 2>}
// CHECK: %[[X:.+]] = plan.buffer "input" "x" {number = 0 : i64, tensor = tensor<4x6xf32, #tpsp.idx<s, d>>} : memref<4x6xf32>
// CHECK: %[[W:.+]] = plan.buffer "parameter" "layer.w" {number = 1 : i64, tensor = tensor<10x6xf32, #tpsp.idx<e@tp, d>>} : memref<5x6xf32>
// CHECK: %[[Y:.+]] = plan.buffer "output" "result0" {number = 0 : i64, tensor = tensor<4x10xf32, #tpsp.idx<s, e@tp>>} : memref<4x5xf32>
// CHECK: plan.matmul %[[X]], %[[W]], %[[Y]]
// CHECK-SAME: leading = array<i64: 6, 6, 5>, sizes = array<i64: 4, 5, 6>, transpose_b
tpsp.mesh @mesh <tp = 2 : model>
!x = tensor<4x6xf32, #tpsp.idx<s, d, local>>
!w = tensor<5x6xf32, #tpsp.idx<e@tp, d, local>>
!y = tensor<4x5xf32, #tpsp.idx<s, e@tp, local>>
func.func @matmul(%x: !x {tpsp.name = "x"}, %w: !w {tpsp.param = "layer.w"}) -> !y {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !y
  return %y : !y
}

// -----

// Batches and sums over several indices are loops of the command.
// CHECK-LABEL: plan.program @loops
// CHECK: plan.matmul
// CHECK-SAME: accumulate = array<i64>, batch = array<i64: 2, 60, 84, 105, 3, 4, 4, 35>
// CHECK-SAME: leading = array<i64: 12, 12, 7>, sizes = array<i64: 5, 7, 4>, transpose_b
// CHECK: plan.matmul
// CHECK-SAME: accumulate = array<i64: {{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}, 0
!q = tensor<2x5x3x4xf32, #tpsp.idx<b, s, h, k, local>>
!t = tensor<2x7x3x4xf32, #tpsp.idx<b, t, h, k, local>>
!a = tensor<2x3x5x7xf32, #tpsp.idx<b, h, s, t, local>>
!g = tensor<7x4xf32, #tpsp.idx<t, k, local>>
func.func @loops(%q: !q, %t: !t) -> (!a, !g) {
  %a = tpsp.einsum %q, %t : (!q, !t) -> !a
  %g = tpsp.einsum %a, %q : (!a, !q) -> !g
  return %a, %g : !a, !g
}

// -----

// Other einsums run as a loop nest; a layout that would need a transpose copy
// is counted.
// CHECK-LABEL: func.func private @kernel0_einsum
// CHECK-LABEL: func.func private @kernel1_einsum
// CHECK: linalg.generic
// CHECK-LABEL: plan.program @loop_nests
// CHECK-SAME: layout_misses = 1 : i64
// CHECK-NOT: plan.matmul
!m = tensor<3x5x2xf32, #tpsp.idx<i, k, b, local>>
!n = tensor<5x4x2xf32, #tpsp.idx<k, j, b, local>>
!o = tensor<3x4x2xf32, #tpsp.idx<i, j, b, local>>
!d = tensor<3x2xf32, #tpsp.idx<i, b, local>>
func.func @loop_nests(%m: !m, %n: !n) -> (!o, !d) {
  %o = tpsp.einsum %m, %n : (!m, !n) -> !o
  %d = tpsp.einsum %o, %o : (!o, !o) -> !d
  return %o, %d : !o, !d
}

// -----

// A view is the same buffer. A returned argument is copied, and so is the second
// of two equal results; no argument is ever written.
// CHECK-LABEL: plan.program @views
// CHECK: %[[X:.+]] = plan.buffer "input"
// CHECK: %[[A:.+]] = plan.buffer "output" "result2"
// CHECK: plan.kernel @{{.+}}(%[[X]]) to(%[[A]])
// CHECK: %[[V:.+]] = plan.view %[[A]] : memref<4x6xf32> to memref<4x2x3xf32>
// CHECK: plan.kernel @{{.+}}(%[[V]])
// CHECK: %[[COPY:.+]] = plan.buffer "output" "result1" {number = 1
// CHECK: plan.slice %[[X]] to %[[COPY]] {axes = array<i64>, chunk = 24 : i64, outer = 1 : i64}
// CHECK: %[[TWICE:.+]] = plan.buffer "output" "result3" {number = 3
// CHECK: plan.slice %[[A]] to %[[TWICE]] {axes = array<i64>
!v = tensor<4x6xf32, #tpsp.idx<s, d, local>>
!h = tensor<4x2x3xf32, #tpsp.idx<s, h, k, local>>
func.func @views(%x: !v) -> (!h, !v, !v, !v) {
  %a = tpsp.exp %x : !v
  %v = tpsp.split %a : !v -> !h
  %b = tpsp.square %v : !h
  return %b, %x, %a, %a : !h, !v, !v, !v
}
