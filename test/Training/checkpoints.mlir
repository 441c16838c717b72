// Checkpoints: a file that is missing, cut or of another checkpoint is refused,
// with its name. A run that is killed at any change of its folder leaves a valid
// one. A folder has one writer.
// REQUIRES: tpsp-run

// RUN: rm -rf %t && mkdir %t
// RUN: cc -O1 -shared -fPIC -o %t/kill.so %S/Inputs/kill-at-write.c
// RUN: python3 %S/Inputs/write-model.py %t/m.mlir "dp = 2 : data" x.b=@dp
// RUN: tpsp-run %t/m.mlir --grad --optimizer adamw --clip 1 --optimizer-axes dp --emit %t/m.so --quiet
// RUN: python3 %S/Inputs/checkpoints.py tpsp-train %t %t/kill.so | FileCheck %s
// CHECK: missing, cut, mixed: refused
// CHECK: one bit: refused
// CHECK: older: by its name alone
// CHECK: without hashes: told
// CHECK: killed, from nothing: whole
// CHECK: killed, changing places: whole
// CHECK: killed, renamed: whole
// CHECK: two writers: one of them
