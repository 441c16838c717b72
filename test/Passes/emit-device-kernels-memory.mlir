// The memory that kernels keep, in threads and in blocks.
// RUN: tpsp-opt %s --tpsp-emit-device-kernels --verify-diagnostics | FileCheck %s

// A GPU reserves a thread's memory for all threads that it could have.

// expected-warning@below {{kernel @whole keeps 4100 bytes in every thread, of which a GPU should have 4096: an item is not a sequence of loop nests: it has memref.store; use smaller extents, or more ranks}}
func.func private @whole(%y: memref<4xf32> {llvm.noalias}, %begin: index, %end: index) {
  %row = memref.alloca() : memref<1025xf32>
  %step = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %begin to %end step %step {
    memref.store %zero, %row[%i] : memref<1025xf32>
    %last = memref.load %row[%step] : memref<1025xf32>
    memref.store %last, %y[%i] : memref<4xf32>
  }
  return
}

func.func private @little(%y: memref<4xf32> {llvm.noalias}, %begin: index, %end: index) {
  %row = memref.alloca() : memref<1024xf32>
  %step = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %begin to %end step %step {
    memref.store %zero, %row[%i] : memref<1024xf32>
    %last = memref.load %row[%step] : memref<1024xf32>
    memref.store %last, %y[%i] : memref<4xf32>
  }
  return
}

#whole = affine_map<(d0, d1) -> (d0, d1)>
#kept = affine_map<(d0, d1) -> (d0)>

// For seven sums 1024 threads would need 56 KiB of a block's memory, whose
// default is 48. 512 need 28.
// CHECK-LABEL: gpu.func @many_sums
// CHECK-SAME: workgroup(%{{.+}} : memref<1x32x16xf64, #gpu.address_space<workgroup>>
// CHECK-SAME: tpsp.launch = array<i64: 512, 1, 1, 0>
func.func private @many_sums(%x: memref<4x16x4096xf64> {llvm.noalias}, %y0: memref<4x16xf64> {llvm.noalias}, %y1: memref<4x16xf64> {llvm.noalias}, %y2: memref<4x16xf64> {llvm.noalias}, %y3: memref<4x16xf64> {llvm.noalias}, %y4: memref<4x16xf64> {llvm.noalias}, %y5: memref<4x16xf64> {llvm.noalias}, %y6: memref<4x16xf64> {llvm.noalias},
                             %begin: index, %end: index) {
  %step = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %begin to %end step %step {
    %in = memref.subview %x[%i, 0, 0] [1, 16, 4096] [1, 1, 1] : memref<4x16x4096xf64> to memref<16x4096xf64, strided<[4096, 1], offset: ?>>
    %o0 = memref.subview %y0[%i, 0] [1, 16] [1, 1] : memref<4x16xf64> to memref<16xf64, strided<[1], offset: ?>>
    %o1 = memref.subview %y1[%i, 0] [1, 16] [1, 1] : memref<4x16xf64> to memref<16xf64, strided<[1], offset: ?>>
    %o2 = memref.subview %y2[%i, 0] [1, 16] [1, 1] : memref<4x16xf64> to memref<16xf64, strided<[1], offset: ?>>
    %o3 = memref.subview %y3[%i, 0] [1, 16] [1, 1] : memref<4x16xf64> to memref<16xf64, strided<[1], offset: ?>>
    %o4 = memref.subview %y4[%i, 0] [1, 16] [1, 1] : memref<4x16xf64> to memref<16xf64, strided<[1], offset: ?>>
    %o5 = memref.subview %y5[%i, 0] [1, 16] [1, 1] : memref<4x16xf64> to memref<16xf64, strided<[1], offset: ?>>
    %o6 = memref.subview %y6[%i, 0] [1, 16] [1, 1] : memref<4x16xf64> to memref<16xf64, strided<[1], offset: ?>>
    linalg.fill ins(%zero : f64) outs(%o0 : memref<16xf64, strided<[1], offset: ?>>)
    linalg.fill ins(%zero : f64) outs(%o1 : memref<16xf64, strided<[1], offset: ?>>)
    linalg.fill ins(%zero : f64) outs(%o2 : memref<16xf64, strided<[1], offset: ?>>)
    linalg.fill ins(%zero : f64) outs(%o3 : memref<16xf64, strided<[1], offset: ?>>)
    linalg.fill ins(%zero : f64) outs(%o4 : memref<16xf64, strided<[1], offset: ?>>)
    linalg.fill ins(%zero : f64) outs(%o5 : memref<16xf64, strided<[1], offset: ?>>)
    linalg.fill ins(%zero : f64) outs(%o6 : memref<16xf64, strided<[1], offset: ?>>)
    linalg.generic {indexing_maps = [#whole, #kept, #kept, #kept, #kept, #kept, #kept, #kept], iterator_types = ["parallel", "reduction"]}
      ins(%in : memref<16x4096xf64, strided<[4096, 1], offset: ?>>) outs(%o0, %o1, %o2, %o3, %o4, %o5, %o6 : memref<16xf64, strided<[1], offset: ?>>, memref<16xf64, strided<[1], offset: ?>>, memref<16xf64, strided<[1], offset: ?>>, memref<16xf64, strided<[1], offset: ?>>, memref<16xf64, strided<[1], offset: ?>>, memref<16xf64, strided<[1], offset: ?>>, memref<16xf64, strided<[1], offset: ?>>) {
    ^bb0(%a: f64, %s0: f64, %s1: f64, %s2: f64, %s3: f64, %s4: f64, %s5: f64, %s6: f64):
      %t0 = arith.addf %s0, %a : f64
      %t1 = arith.addf %s1, %a : f64
      %t2 = arith.addf %s2, %a : f64
      %t3 = arith.addf %s3, %a : f64
      %t4 = arith.addf %s4, %a : f64
      %t5 = arith.addf %s5, %a : f64
      %t6 = arith.addf %s6, %a : f64
      linalg.yield %t0, %t1, %t2, %t3, %t4, %t5, %t6 : f64, f64, f64, f64, f64, f64, f64
    }
  }
  return
}

plan.program @f attributes {axes = [], sizes = array<i64>} {
  %x = plan.buffer "temporary" : memref<4xf32>
  %y = plan.buffer "temporary" : memref<4xf32>
  plan.kernel @whole() to(%x) {grid = 4 : i64, positions = []} : () -> memref<4xf32>
  plan.kernel @little() to(%y) {grid = 4 : i64, positions = []} : () -> memref<4xf32>
  %v = plan.buffer "input" "v" {number = 0 : i64} : memref<4x16x4096xf64>
  %z0 = plan.buffer "temporary" : memref<4x16xf64>
  %z1 = plan.buffer "temporary" : memref<4x16xf64>
  %z2 = plan.buffer "temporary" : memref<4x16xf64>
  %z3 = plan.buffer "temporary" : memref<4x16xf64>
  %z4 = plan.buffer "temporary" : memref<4x16xf64>
  %z5 = plan.buffer "temporary" : memref<4x16xf64>
  %z6 = plan.buffer "temporary" : memref<4x16xf64>
  plan.kernel @many_sums(%v) to(%z0, %z1, %z2, %z3, %z4, %z5, %z6) {grid = 4 : i64, positions = []} : (memref<4x16x4096xf64>) -> (memref<4x16xf64>, memref<4x16xf64>, memref<4x16xf64>, memref<4x16xf64>, memref<4x16xf64>, memref<4x16xf64>, memref<4x16xf64>)
}
