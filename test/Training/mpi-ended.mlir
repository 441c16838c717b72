// A process that is killed ends all of them, and so does an interrupt of mpirun
// or of the processes, or a disk that one cannot write to; nobody waits for ever,
// and the last checkpoint is whole.
// REQUIRES: mpi, tpsp-run

// RUN: rm -rf %t && mkdir %t
// RUN: python3 %S/Inputs/write-model.py %t/m.mlir "dp = 2 : data" x.b=@dp
// RUN: tpsp-run %t/m.mlir --grad --optimizer adamw --clip 1 --optimizer-axes dp --emit %t/m.so --quiet
// RUN: python3 %S/Inputs/ended.py tpsp-train %t %mpirun | FileCheck %s
// CHECK: killed: ended with
// CHECK: interrupted: ended with
// CHECK: together: ended with 0
// CHECK: full: ended with
// CHECK: apart: the same bytes
