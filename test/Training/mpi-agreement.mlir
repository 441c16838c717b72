// What would make processes train apart without a word is refused with its name:
// every option that is not one process's own, what the files hold, and where a
// run goes on.
// REQUIRES: mpi, tpsp-run

// RUN: rm -rf %t && mkdir %t
// RUN: python3 %S/Inputs/write-model.py %t/m.mlir "dp = 2 : data" x.b=@dp
// RUN: tpsp-run %t/m.mlir --grad --optimizer adamw --clip 1 --emit %t/m.so --quiet
// RUN: rev %t/text > %t/other
// RUN: python3 %S/Inputs/disagree.py tpsp-train %t %mpirun | FileCheck %s
// CHECK: --lr: told
// CHECK: --schedule: told
// CHECK: --seed: told
// CHECK: --out: told
// CHECK: the contents of --data: told
// CHECK: the contents of --data: told
// CHECK: the contents of --eval-data: told
// CHECK: the contents of --resume: told
// CHECK: --clip: told
// CHECK: alike: trained
