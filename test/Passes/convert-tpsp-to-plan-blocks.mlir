// Copies of blocks are kernels over [outer, block, row, element].
// RUN: tpsp-opt %s --tpsp-partition --convert-tpsp-to-plan | FileCheck %s

tpsp.mesh @mesh <dp = 2>

!x = tensor<4x3x6x5xf32, #tpsp.idx<b@dp, n, s, d>>
!y = tensor<4x6x5xf32, #tpsp.idx<b@dp, s, d>>
!z = tensor<2x4x6x5xf32, #tpsp.idx<n, b@dp, s, d>>

// One row of 5 from block 2.
// CHECK-LABEL: func.func private @kernel0_take(
// CHECK-SAME: %[[S:[a-z0-9]+]]: memref<2x3x6x5xf32> {llvm.noalias}, %[[T:[a-z0-9]+]]: memref<2x1x6x5xf32> {llvm.noalias}
// CHECK: %[[FROM:.*]] = memref.subview %[[S]][%[[O:.*]], 2, %[[R:.*]], 0] [1, 1, 1, 5]
// CHECK: %[[TO:.*]] = memref.subview %[[T]][%[[O]], 0, %[[R]], 0] [1, 1, 1, 5]
// CHECK: linalg.copy ins(%[[FROM]] {{.*}} outs(%[[TO]]
// If the block index is outermost, the rows still make a grid.
// CHECK-LABEL: func.func private @kernel1_stack(
// CHECK-SAME: memref<1x1x2x30xf32>{{.*}}memref<1x1x2x30xf32>{{.*}}memref<1x2x2x30xf32>
// CHECK-COUNT-2: linalg.copy
// CHECK-LABEL: plan.program @blocks
// CHECK: %[[X:.*]] = plan.buffer "input"
// CHECK: %[[V:.*]] = plan.view %{{.*}} : memref<2x6x5xf32> to memref<2x1x6x5xf32>
// CHECK: plan.kernel @kernel0_take(%[[X]]) to(%[[V]]) {{.*}}grid = 12
// CHECK: plan.kernel @kernel1_stack(%{{.*}}, %{{.*}}) {{.*}}grid = 2
func.func @blocks(%x: !x, %w: !y) -> !z {
  %y = tpsp.take %x {index = "n", at = 2} : !x -> !y
  %z = tpsp.stack %y, %w {index = "n"} : !y -> !z
  return %z : !z
}
