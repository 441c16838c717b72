// A kernel is an epilogue's by its arithmetic, whatever it is called: here one
// that is called otherwise, and one with GELU's name and another constant.
// RUN: tpsp-opt %s --tpsp-fuse-epilogues --split-input-file | FileCheck %s

// CHECK-NOT: func.func
// CHECK-LABEL: plan.program @gelu
// CHECK: plan.matmul {{.*}}epilogue = ["gelu"]
// CHECK-NOT: plan.kernel
func.func private @something(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %begin: index, %end: index) {
  %one = arith.constant 1 : index
  scf.for %i = %begin to %end step %one {
    %from = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    %to = memref.subview %y[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%from : memref<8xf32, strided<[1], offset: ?>>) outs(%to : memref<8xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      %a = arith.constant 0.0713548139 : f32
      %c = arith.constant 1.59576917 : f32
      %unit = arith.constant 1.000000e+00 : f32
      %0 = arith.mulf %a, %in : f32
      %1 = arith.mulf %0, %in : f32
      %2 = arith.addf %c, %1 : f32
      %3 = arith.mulf %in, %2 : f32
      %4 = arith.negf %3 : f32
      %5 = math.exp %4 : f32
      %6 = arith.addf %unit, %5 : f32
      %7 = arith.divf %unit, %6 : f32
      %8 = arith.mulf %in, %7 : f32
      linalg.yield %8 : f32
    }
  }
  return
}
plan.program @gelu attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" : memref<4x5xf32>
  %b = plan.buffer "input" : memref<5x8xf32>
  %x = plan.buffer "temporary" : memref<4x8xf32>
  %y = plan.buffer "output" : memref<4x8xf32>
  plan.matmul %a, %b, %x {accumulate = array<i64>, batch = array<i64>, leading = array<i64: 5, 8, 8>, sizes = array<i64: 4, 8, 5>} : memref<4x5xf32>, memref<5x8xf32>, memref<4x8xf32>
  plan.kernel @something(%x) to(%y) {grid = 4 : i64, positions = []} : (memref<4x8xf32>) -> memref<4x8xf32>
}

// -----

// CHECK-LABEL: plan.program @not_gelu
// CHECK-NOT: epilogue
// CHECK: plan.kernel
func.func private @gelu(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %begin: index, %end: index) {
  %one = arith.constant 1 : index
  scf.for %i = %begin to %end step %one {
    %from = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    %to = memref.subview %y[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%from : memref<8xf32, strided<[1], offset: ?>>) outs(%to : memref<8xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      %a = arith.constant 0.08 : f32
      %c = arith.constant 1.59576917 : f32
      %unit = arith.constant 1.000000e+00 : f32
      %0 = arith.mulf %a, %in : f32
      %1 = arith.mulf %0, %in : f32
      %2 = arith.addf %c, %1 : f32
      %3 = arith.mulf %in, %2 : f32
      %4 = arith.negf %3 : f32
      %5 = math.exp %4 : f32
      %6 = arith.addf %unit, %5 : f32
      %7 = arith.divf %unit, %6 : f32
      %8 = arith.mulf %in, %7 : f32
      linalg.yield %8 : f32
    }
  }
  return
}
plan.program @not_gelu attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" : memref<4x5xf32>
  %b = plan.buffer "input" : memref<5x8xf32>
  %x = plan.buffer "temporary" : memref<4x8xf32>
  %y = plan.buffer "output" : memref<4x8xf32>
  plan.matmul %a, %b, %x {accumulate = array<i64>, batch = array<i64>, leading = array<i64: 5, 8, 8>, sizes = array<i64: 4, 8, 5>} : memref<4x5xf32>, memref<5x8xf32>, memref<4x8xf32>
  plan.kernel @gelu(%x) to(%y) {grid = 4 : i64, positions = []} : (memref<4x8xf32>) -> memref<4x8xf32>
}
