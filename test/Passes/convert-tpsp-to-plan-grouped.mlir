// Products of every row with the matrix that its integer chooses.
// RUN: tpsp-opt %s --split-input-file --convert-tpsp-to-plan --verify-diagnostics | FileCheck %s

// Blocks j of matrices are a batch. Rows of all groups follow each other.
// CHECK-LABEL: plan.program @rows
// CHECK: %[[IDS:.+]] = plan.buffer {{.*}}memref<2x3x7xi32>
// CHECK: %[[W:.+]] = plan.buffer {{.*}}memref<2x5x9x6xf32>
// CHECK: %[[X:.+]] = plan.buffer {{.*}}memref<2x3x7x6xf32>
// CHECK: plan.grouped_matmul %[[X]], %[[W]] by %[[IDS]] to %{{.+}} {accumulate = array<i64>, batch = array<i64: 2, 126, 270, 189>, group_stride = 54 : i64, groups = 5 : i64, id_strides = array<i64: 21>, leading = array<i64: 6, 6, 9>, sizes = array<i64: 21, 9, 6>, transpose_b}
// CHECK-NOT: plan.kernel
!ids = tensor<2x3x7xi32, #tpsp.idx<j, g, c>>
!w = tensor<2x5x9x6xf32, #tpsp.idx<j, i, f, d>>
!x = tensor<2x3x7x6xf32, #tpsp.idx<j, g, c, d>>
!u = tensor<2x3x7x9xf32, #tpsp.idx<j, g, c, f>>
func.func @rows(%ids: !ids, %w: !w, %x: !x) -> !u {
  %u = tpsp.one_hot_einsum %ids, %w, %x {indices = ["i"]} : (!ids, !w, !x) -> !u
  return %u : !u
}

// -----

// Their gradient: rows are summed, and C is chosen.
// CHECK-LABEL: plan.program @matrices
// CHECK: plan.grouped_matmul {{.*}}sizes = array<i64: 9, 6, 21>, sums_rows, transpose_a}
// CHECK-NOT: plan.kernel
!ids = tensor<2x3x7xi32, #tpsp.idx<j, g, c>>
!w = tensor<2x5x9x6xf32, #tpsp.idx<j, i, f, d>>
!x = tensor<2x3x7x6xf32, #tpsp.idx<j, g, c, d>>
!u = tensor<2x3x7x9xf32, #tpsp.idx<j, g, c, f>>
func.func @matrices(%ids: !ids, %g: !u, %x: !x) -> !w {
  %w = tpsp.one_hot_einsum %ids, %g, %x {indices = ["i"]} : (!ids, !u, !x) -> !w
  return %w : !w
}

// -----

// Integers of neighbouring rows are not neighbours: a kernel.
// CHECK-LABEL: plan.program @apart
// CHECK-SAME: layout_misses = 1
// CHECK-NOT: plan.grouped_matmul
// CHECK: plan.kernel @{{.*}}one_hot_einsum
func.func @apart(%ids: tensor<7x2xi32, #tpsp.idx<c, j>>, %w: tensor<2x5x9x8xf32, #tpsp.idx<j, i, f, d>>, %x: tensor<2x7x8xf32, #tpsp.idx<j, c, d>>) -> tensor<2x7x9xf32, #tpsp.idx<j, c, f>> {
  %u = tpsp.one_hot_einsum %ids, %w, %x {indices = ["i"]} : (tensor<7x2xi32, #tpsp.idx<c, j>>, tensor<2x5x9x8xf32, #tpsp.idx<j, i, f, d>>, tensor<2x7x8xf32, #tpsp.idx<j, c, d>>) -> tensor<2x7x9xf32, #tpsp.idx<j, c, f>>
  return %u : tensor<2x7x9xf32, #tpsp.idx<j, c, f>>
}
