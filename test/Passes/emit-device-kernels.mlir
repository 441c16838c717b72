// RUN: tpsp-opt %s --tpsp-emit-device-kernels --remarks-filter='tpsp-.*' > %t 2> %t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: tpsp-opt %s --tpsp-emit-device-kernels="chip=sm_90 serial=true" | FileCheck %s --check-prefix=SERIAL

#row = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> ()>

// The functions stay as they are.
// CHECK: func.func private @divide_by_sum
// CHECK: func.func private @pick
// CHECK: func.func private @sum_of_rows
// CHECK: gpu.module @tpsp_device_kernels [#nvvm.target<O = 3, chip = "sm_80", features = "+ptx78">]
// SERIAL: chip = "sm_90"

// 512 elements of a row: a block of 128 threads for it, since there are few rows;
// each reads four neighbours as 16 bytes. The sum goes through shuffles and, from
// warp to warp, through the block's memory, with one barrier. Then all threads
// know it: no barrier for the quotients.
// CHECK-LABEL: gpu.func @divide_by_sum
// CHECK-SAME: memref<4x512xf32> {llvm.align = 16 : i64, llvm.noalias}
// CHECK-SAME: workgroup(%{{.+}} : memref<1x4x1xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
// CHECK-SAME: tpsp.launch = array<i64: 128, 1, 1, 0>
// CHECK: scf.for
// CHECK: memref.load {{.*}} {alignment = 16 : i64}
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: scf.for
// CHECK: arith.divf
// CHECK: memref.store {{.*}} {alignment = 16 : i64}
// CHECK: gpu.return
// SERIAL-LABEL: gpu.func @divide_by_sum
// SERIAL-SAME: tpsp.launch = array<i64: 32, 32, 1, 0>
// SERIAL: memref.alloca
// SERIAL: scf.if
// SERIAL: linalg.fill
func.func private @divide_by_sum(%x: memref<4x512xf32> {llvm.noalias}, %y: memref<4x512xf32> {llvm.noalias},
                                 %begin: index, %end: index) {
  %sum = memref.alloca() : memref<f32>
  %step = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %begin to %end step %step {
    %in = memref.subview %x[%i, 0] [1, 512] [1, 1] : memref<4x512xf32> to memref<512xf32, strided<[1], offset: ?>>
    %out = memref.subview %y[%i, 0] [1, 512] [1, 1] : memref<4x512xf32> to memref<512xf32, strided<[1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%sum : memref<f32>)
    linalg.generic {indexing_maps = [#row, #one], iterator_types = ["reduction"]}
      ins(%in : memref<512xf32, strided<[1], offset: ?>>) outs(%sum : memref<f32>) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %b, %a : f32
      linalg.yield %c : f32
    }
    linalg.generic {indexing_maps = [#row, #one, #row], iterator_types = ["parallel"]}
      ins(%in, %sum : memref<512xf32, strided<[1], offset: ?>>, memref<f32>)
      outs(%out : memref<512xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32, %old: f32):
      %q = arith.divf %a, %b : f32
      linalg.yield %q : f32
    }
  }
  return
}

// A row that is looked up: the threads of an item share the loop along it, and
// each has four neighbours.
// REMARK: [Missed] serial
// REMARK-SAME: it has memref.load
// REMARK-SAME: every work item of @pick is done in order
// REMARK-SAME: threads_for_an_item=16, work_items=8
// CHECK-LABEL: gpu.func @pick
// CHECK-SAME: tpsp.launch = array<i64: 32, 2, 1, 0>
// CHECK: %[[THREAD:.+]] = gpu.thread_id
// CHECK: %[[LANE:.+]] = arith.remui %[[THREAD]], %{{.+}}
// CHECK: scf.if
// CHECK: memref.load %{{.+}}[%{{.+}}] : memref<8xi32>
// CHECK: %[[FOURTH:.+]] = arith.addi %{{.+}}, %[[LANE]]
// CHECK: %[[FIRST:.+]] = arith.muli %[[FOURTH]], %{{.+}}
// CHECK-NOT: scf
// CHECK-COUNT-4: memref.load %{{.+}} : memref<9x64xf32>
// CHECK-NOT: memref.load
// CHECK: gpu.return
func.func private @pick(%id: memref<8xi32>, %x: memref<9x64xf32>, %y: memref<8x64xf32>,
                        %begin: index, %end: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %extent = arith.constant 64 : index
  scf.for %i = %begin to %end step %one {
    %out = memref.subview %y[%i, 0] [1, 64] [1, 1] : memref<8x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %number = memref.load %id[%i] : memref<8xi32>
    %at = arith.index_cast %number : i32 to index
    scf.for %j = %zero to %extent step %one {
      %v = memref.load %x[%at, %j] : memref<9x64xf32>
      memref.store %v, %out[%j] : memref<64xf32, strided<[1], offset: ?>>
    }
  }
  return
}

// A row that is copied, and nothing else: blocks share its positions, each of
// which is one block's.
// REMARK: every work item of @shift is done in order
// REMARK-SAME: blocks_of_an_item=9, threads_for_an_item=16, work_items=2
// CHECK-LABEL: gpu.func @shift
// CHECK-SAME: tpsp.launch = array<i64: 32, 2, 9, 0>
// CHECK: %[[PART:.+]] = gpu.block_id y
// CHECK: %[[AHEAD:.+]] = arith.addi %[[PART]], %{{.+}}
// CHECK: %[[MINE:.+]] = arith.remui %[[AHEAD]], %[[PARTS:.+]] : index
// CHECK: %[[POINT:.+]] = arith.addi %[[MINE]], %{{.+}}
// CHECK: scf.for %{{.+}} = %[[POINT]] to %{{.+}} step %[[PARTS]]
// CHECK: gpu.return
func.func private @shift(%x: memref<2x10x64xf32>, %y: memref<2x10x64xf32>, %begin: index, %end: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %extent = arith.constant 64 : index
  %length = arith.constant 10 : index
  scf.for %i = %begin to %end step %one {
    scf.for %s = %one to %length step %one {
      %before = arith.subi %s, %one : index
      scf.for %j = %zero to %extent step %one {
        %v = memref.load %x[%i, %before, %j] : memref<2x10x64xf32>
        memref.store %v, %y[%i, %s, %j] : memref<2x10x64xf32>
      }
    }
  }
  return
}

// Rows that threads may not share: a row with another row's loop inside, and a row
// that is read through another view of it.
// REMARK: every work item of @nested is done in order
// REMARK-SAME: blocks_of_an_item=1, threads_for_an_item=1, work_items=2
// REMARK: every work item of @overlapping is done in order
// REMARK-SAME: blocks_of_an_item=1, threads_for_an_item=1, work_items=2
func.func private @nested(%y: memref<2x10x64xf32>, %z: memref<2x10xf32>, %begin: index, %end: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %extent = arith.constant 64 : index
  %length = arith.constant 10 : index
  %number = arith.constant 1.0 : f32
  scf.for %i = %begin to %end step %one {
    scf.for %s = %zero to %length step %one {
      memref.store %number, %z[%i, %s] : memref<2x10xf32>
      scf.for %j = %zero to %extent step %one {
        memref.store %number, %y[%i, %s, %j] : memref<2x10x64xf32>
      }
    }
  }
  return
}

func.func private @overlapping(%y: memref<2x65xf32>, %begin: index, %end: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %extent = arith.constant 64 : index
  scf.for %i = %begin to %end step %one {
    %out = memref.subview %y[%i, 1] [1, 64] [1, 1] : memref<2x65xf32> to memref<64xf32, strided<[1], offset: ?>>
    %in = memref.subview %y[%i, 0] [1, 64] [1, 1] : memref<2x65xf32> to memref<64xf32, strided<[1], offset: ?>>
    scf.for %j = %zero to %extent step %one {
      %v = memref.load %in[%j] : memref<64xf32, strided<[1], offset: ?>>
      memref.store %v, %out[%j] : memref<64xf32, strided<[1], offset: ?>>
    }
  }
  return
}

// A sum over all rows, of a range of the innermost index: a block has a slice of
// 16 columns. A thread has four neighbouring columns; the eight threads of a warp
// with the same columns combine by shuffles.
// REMARK-NOT: sum_of_rows
// CHECK-LABEL: gpu.func @sum_of_rows
// CHECK-SAME: tpsp.launch = array<i64: 256, 16, 1, 0>
// CHECK: scf.for
// CHECK-COUNT-4: memref.load
// CHECK: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK: gpu.return
func.func private @sum_of_rows(%x: memref<100x40xf32>, %y: memref<40xf32>, %begin: index, %end: index) {
  %zero = arith.constant 0.0 : f32
  %n = arith.subi %end, %begin : index
  %in = memref.subview %x[0, %begin] [100, %n] [1, 1] : memref<100x40xf32> to memref<100x?xf32, strided<[40, 1], offset: ?>>
  %out = memref.subview %y[%begin] [%n] [1] : memref<40xf32> to memref<?xf32, strided<[1], offset: ?>>
  linalg.fill ins(%zero : f32) outs(%out : memref<?xf32, strided<[1], offset: ?>>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>],
                  iterator_types = ["reduction", "parallel"]}
    ins(%in : memref<100x?xf32, strided<[40, 1], offset: ?>>) outs(%out : memref<?xf32, strided<[1], offset: ?>>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %b, %a : f32
    linalg.yield %c : f32
  }
  return
}

plan.program @f attributes {axes = [], sizes = array<i64>} {
  %x = plan.buffer "input" "x" {number = 0 : i64} : memref<4x512xf32>
  %y = plan.buffer "temporary" : memref<4x512xf32>
  plan.kernel @divide_by_sum(%x) to(%y) {grid = 4 : i64, positions = []} : (memref<4x512xf32>) -> memref<4x512xf32>
  %i = plan.buffer "input" "i" {number = 1 : i64} : memref<8xi32>
  %t = plan.buffer "input" "t" {number = 2 : i64} : memref<9x64xf32>
  %p = plan.buffer "temporary" : memref<8x64xf32>
  plan.kernel @pick(%i, %t) to(%p) {grid = 8 : i64, positions = []} : (memref<8xi32>, memref<9x64xf32>) -> memref<8x64xf32>
  %u = plan.buffer "input" "u" {number = 4 : i64} : memref<2x10x64xf32>
  %w = plan.buffer "temporary" : memref<2x10x64xf32>
  plan.kernel @shift(%u) to(%w) {grid = 2 : i64, positions = []} : (memref<2x10x64xf32>) -> memref<2x10x64xf32>
  %a = plan.buffer "temporary" : memref<2x10x64xf32>
  %b = plan.buffer "temporary" : memref<2x10xf32>
  plan.kernel @nested() to(%a, %b) {grid = 2 : i64, positions = []} : () -> (memref<2x10x64xf32>, memref<2x10xf32>)
  %c = plan.buffer "temporary" : memref<2x65xf32>
  plan.kernel @overlapping() to(%c) {grid = 2 : i64, positions = []} : () -> memref<2x65xf32>
  %z = plan.buffer "input" "z" {number = 3 : i64} : memref<100x40xf32>
  %s = plan.buffer "temporary" : memref<40xf32>
  plan.kernel @sum_of_rows(%z) to(%s) {grid = 40 : i64, positions = []} : (memref<100x40xf32>) -> memref<40xf32>
}

#square = affine_map<(d0, d1) -> (d0, d1)>
#head = affine_map<(d0, d1) -> (d0)>
#none = affine_map<(d0, d1) -> ()>

// Threads read parts of %y that other threads stored. The barrier between is
// that of the sum through memory. With noalias LLVM might read before it.
// CHECK-LABEL: gpu.func @behind_a_sum
// CHECK-SAME: (%{{[^:]+}}: memref<4x8x64xf32> {llvm.align = 16 : i64, llvm.noalias}, %{{[^:]+}}: memref<4x8x64xf32> {llvm.align = 16 : i64}, %{{[^:]+}}: memref<4x8xf32> {llvm.align = 16 : i64, llvm.noalias}
// CHECK-COUNT-1: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
func.func private @behind_a_sum(%x: memref<4x8x64xf32> {llvm.noalias}, %y: memref<4x8x64xf32> {llvm.noalias},
                                %z: memref<4x8xf32> {llvm.noalias}, %begin: index, %end: index) {
  %sum = memref.alloca() : memref<f32>
  %step = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %begin to %end step %step {
    %in = memref.subview %x[%i, 0, 0] [1, 8, 64] [1, 1, 1] : memref<4x8x64xf32> to memref<8x64xf32, strided<[64, 1], offset: ?>>
    %out = memref.subview %y[%i, 0, 0] [1, 8, 64] [1, 1, 1] : memref<4x8x64xf32> to memref<8x64xf32, strided<[64, 1], offset: ?>>
    %heads = memref.subview %z[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#square, #square], iterator_types = ["parallel", "parallel"]}
      ins(%in : memref<8x64xf32, strided<[64, 1], offset: ?>>) outs(%out : memref<8x64xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%a: f32, %old: f32):
      %b = arith.addf %a, %a : f32
      linalg.yield %b : f32
    }
    linalg.fill ins(%zero : f32) outs(%sum : memref<f32>)
    linalg.generic {indexing_maps = [#square, #none], iterator_types = ["reduction", "reduction"]}
      ins(%out : memref<8x64xf32, strided<[64, 1], offset: ?>>) outs(%sum : memref<f32>) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %b, %a : f32
      linalg.yield %c : f32
    }
    linalg.fill ins(%zero : f32) outs(%heads : memref<8xf32, strided<[1], offset: ?>>)
    linalg.generic {indexing_maps = [#square, #none, #head], iterator_types = ["parallel", "reduction"]}
      ins(%out, %sum : memref<8x64xf32, strided<[64, 1], offset: ?>>, memref<f32>)
      outs(%heads : memref<8xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %s: f32, %b: f32):
      %p = arith.mulf %a, %s : f32
      %c = arith.addf %b, %p : f32
      linalg.yield %c : f32
    }
  }
  return
}

plan.program @g attributes {axes = [], sizes = array<i64>} {
  %x = plan.buffer "input" "x" {number = 0 : i64} : memref<4x8x64xf32>
  %y = plan.buffer "temporary" : memref<4x8x64xf32>
  %z = plan.buffer "temporary" : memref<4x8xf32>
  plan.kernel @behind_a_sum(%x) to(%y, %z) {grid = 4 : i64, positions = []} : (memref<4x8x64xf32>) -> (memref<4x8x64xf32>, memref<4x8xf32>)
}
