// RUN: tpsp-opt %s --tpsp-lower-kernel-math | FileCheck %s

// A row's random numbers are made strip by strip: 32 blocks into an array,
// while the strip's loads are prefetched. The rest is a shorter strip.

// CHECK-LABEL: func.func @rows
//   CHECK-DAG:   %[[REST:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32xi32>
//   CHECK-DAG:   %[[WORDS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<128xi32>
//       CHECK:   scf.for %[[FIRST:.*]] = %{{.*}} to %{{.*}} step %c128
// CHECK-COUNT-8:   memref.prefetch %arg0[%{{.*}}], read, locality<3>, data : memref<400xf32>
//   CHECK-NOT:     memref.prefetch
//       CHECK:     vector.store %{{.*}}, %[[WORDS]][%{{.*}}] : memref<128xi32>, vector<128xi32>
//       CHECK:     scf.for %[[I:.*]] = %{{.*}} to %c128
//       CHECK:       arith.addi %[[FIRST]], %[[I]]
//       CHECK:       memref.load %[[WORDS]][%[[I]]]
//       CHECK:   vector.store %{{.*}}, %[[REST]][%{{.*}}] : memref<32xi32>, vector<32xi32>
//       CHECK:   scf.for
//       CHECK:     memref.load %[[REST]]
//   CHECK-NOT:   random_bits
func.func @rows(%x: memref<400xf32>, %to: memref<400xf32>, %row: i64) {
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 400 : index
  %four = arith.constant 4 : i64
  %half = arith.constant 0x7fffffff : i32
  %zero = arith.constant 0.0 : f32
  scf.for %i = %none to %end step %one {
    %c = arith.index_cast %i : index to i64
    %q = arith.divui %c, %four : i64
    %word = arith.remui %c, %four : i64
    %block = arith.addi %row, %q : i64
    %bits = tpsp.random_bits %block, %word seed 3
    %kept = arith.cmpi uge, %bits, %half : i32
    %value = memref.load %x[%i] : memref<400xf32>
    %y = arith.select %kept, %value, %zero : f32
    memref.store %y, %to[%i] : memref<400xf32>
  }
  return
}

// A strip that begins within a block leaves out the words before. Three more
// are made, and the first word's number is added.

// CHECK-LABEL: func.func @within
//       CHECK:   %[[WORDS:.*]] = memref.alloca() {{.*}} : memref<64xi32>
//       CHECK:   %[[SKIPPED:.*]] = arith.index_cast %{{.*}} : i64 to index
//       CHECK:   vector.store %{{.*}}, %[[WORDS]]
//       CHECK:   scf.for %[[I:.*]] =
//       CHECK:     %[[AT:.*]] = arith.addi %[[I]], %[[SKIPPED]]
//       CHECK:     memref.load %[[WORDS]][%[[AT]]]
//   CHECK-NOT:   random_bits
func.func @within(%to: memref<37xi32>, %row: i64) {
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 37 : index
  %four = arith.constant 4 : i64
  scf.for %i = %none to %end step %one {
    %c = arith.index_cast %i : index to i64
    %p = arith.addi %row, %c : i64
    %block = arith.divui %p, %four : i64
    %word = arith.remui %p, %four : i64
    %bits = tpsp.random_bits %block, %word seed 3
    memref.store %bits, %to[%i] : memref<37xi32>
  }
  return
}

// If one draw begins within a block, strips are no whole blocks. The second
// strip of the other draw begins within one, too.

// CHECK-LABEL: func.func @both
//       CHECK:   scf.for %{{.*}} step %c125
// CHECK-COUNT-2:   arith.index_cast %{{.*}} : i64 to index
//       CHECK:     scf.for %[[I:.*]] =
//       CHECK:       %[[AT:.*]] = arith.addi %[[I]], %{{.*}}
//       CHECK:       memref.load %{{.*}}[%[[AT]]] : memref<128xi32>
//       CHECK:       %[[THERE:.*]] = arith.addi %[[I]], %{{.*}}
//       CHECK:       memref.load %{{.*}}[%[[THERE]]] : memref<128xi32>
//   CHECK-NOT:   random_bits
func.func @both(%to: memref<250xi32>, %row: i64) {
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 250 : index
  %four = arith.constant 4 : i64
  scf.for %i = %none to %end step %one {
    %c = arith.index_cast %i : index to i64
    %whole = arith.divui %c, %four : i64
    %first = arith.remui %c, %four : i64
    %a = tpsp.random_bits %whole, %first seed 3
    %p = arith.addi %row, %c : i64
    %block = arith.divui %p, %four : i64
    %word = arith.remui %p, %four : i64
    %b = tpsp.random_bits %block, %word seed 4
    %bits = arith.xori %a, %b : i32
    memref.store %bits, %to[%i] : memref<250xi32>
  }
  return
}

// A loop of unknown extent has strips, and then a rest.

// CHECK-LABEL: func.func @unknown
//       CHECK:   %[[OVER:.*]] = arith.remsi
//       CHECK:   scf.for
//       CHECK:     vector.store
//       CHECK:     scf.for
//       CHECK:   vector.store
//       CHECK:   scf.for
//   CHECK-NOT:   random_bits
func.func @unknown(%to: memref<?xi32>, %begin: index, %end: index) {
  %one = arith.constant 1 : index
  %four = arith.constant 4 : i64
  scf.for %i = %begin to %end step %one {
    %p = arith.index_cast %i : index to i64
    %block = arith.divui %p, %four : i64
    %word = arith.remui %p, %four : i64
    %bits = tpsp.random_bits %block, %word seed 3
    memref.store %bits, %to[%i] : memref<?xi32>
  }
  return
}

// The step's number is read before a strip, if the loop does not write it.

// CHECK-LABEL: func.func @step
//       CHECK:   memref.load %arg1[]
//       CHECK:   vector.store
//       CHECK:   scf.for
func.func @step(%to: memref<64xi32>, %number: memref<f32>) {
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 64 : index
  %four = arith.constant 4 : i64
  scf.for %i = %none to %end step %one {
    %p = arith.index_cast %i : index to i64
    %block = arith.divui %p, %four : i64
    %word = arith.remui %p, %four : i64
    %now = memref.load %number[] : memref<f32>
    %step = arith.fptoui %now : f32 to i64
    %bits = tpsp.random_bits %block, %word step %step seed 3
    memref.store %bits, %to[%i] : memref<64xi32>
  }
  return
}

// CHECK-LABEL: func.func @writtenStep
//   CHECK-NOT:   alloca
//       CHECK:   scf.for
//   CHECK-NOT:   random_bits
//       CHECK:   return
func.func @writtenStep(%to: memref<64xi32>, %number: memref<f32>) {
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 64 : index
  %four = arith.constant 4 : i64
  scf.for %i = %none to %end step %one {
    %p = arith.index_cast %i : index to i64
    %block = arith.divui %p, %four : i64
    %word = arith.remui %p, %four : i64
    %now = memref.load %number[] : memref<f32>
    %step = arith.fptoui %now : f32 to i64
    %bits = tpsp.random_bits %block, %word step %step seed 3
    %next = arith.addf %now, %now : f32
    memref.store %next, %number[] : memref<f32>
    memref.store %bits, %to[%i] : memref<64xi32>
  }
  return
}

// A number that differs for each element is not read once for a strip.

// CHECK-LABEL: func.func @stepOfElement
//   CHECK-NOT:   alloca
//       CHECK:   scf.for
//   CHECK-NOT:   random_bits
//       CHECK:   return
func.func @stepOfElement(%to: memref<64xi32>, %numbers: memref<64xi64>) {
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 64 : index
  %four = arith.constant 4 : i64
  scf.for %i = %none to %end step %one {
    %p = arith.index_cast %i : index to i64
    %block = arith.divui %p, %four : i64
    %word = arith.remui %p, %four : i64
    %step = memref.load %numbers[%i] : memref<64xi64>
    %bits = tpsp.random_bits %block, %word step %step seed 3
    memref.store %bits, %to[%i] : memref<64xi32>
  }
  return
}

// Elements that are not neighbours get a block each: here a column is read, and
// there every other element.

// CHECK-LABEL: func.func @column
//   CHECK-NOT:   alloca
//   CHECK-NOT:   random_bits
//       CHECK:   return
func.func @column(%to: memref<64xi32>) {
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 64 : index
  %four = arith.constant 4 : i64
  %columns = arith.constant 8 : i64
  scf.for %i = %none to %end step %one {
    %row = arith.index_cast %i : index to i64
    %p = arith.muli %row, %columns : i64
    %block = arith.divui %p, %four : i64
    %word = arith.remui %p, %four : i64
    %bits = tpsp.random_bits %block, %word seed 3
    memref.store %bits, %to[%i] : memref<64xi32>
  }
  return
}

// CHECK-LABEL: func.func @everyOther
//   CHECK-NOT:   alloca
//   CHECK-NOT:   random_bits
//       CHECK:   return
func.func @everyOther(%to: memref<64xi32>) {
  %none = arith.constant 0 : index
  %two = arith.constant 2 : index
  %end = arith.constant 64 : index
  %four = arith.constant 4 : i64
  scf.for %i = %none to %end step %two {
    %p = arith.index_cast %i : index to i64
    %block = arith.divui %p, %four : i64
    %word = arith.remui %p, %four : i64
    %bits = tpsp.random_bits %block, %word seed 3
    memref.store %bits, %to[%i] : memref<64xi32>
  }
  return
}
