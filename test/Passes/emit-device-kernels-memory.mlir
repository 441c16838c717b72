// Kernels of which every thread would keep much. A GPU reserves that for all
// threads that it could have.
// RUN: tpsp-opt %s --tpsp-emit-device-kernels --verify-diagnostics -o /dev/null

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

plan.program @f attributes {axes = [], sizes = array<i64>} {
  %x = plan.buffer "temporary" : memref<4xf32>
  %y = plan.buffer "temporary" : memref<4xf32>
  plan.kernel @whole() to(%x) {grid = 4 : i64, positions = []} : () -> memref<4xf32>
  plan.kernel @little() to(%y) {grid = 4 : i64, positions = []} : () -> memref<4xf32>
}
