// Differences that would silently make processes diverge are refused by name:
// options that must agree, contents of files, and the position at which a run
// resumes.
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
