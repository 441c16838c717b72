// Forty steps on every mesh are those of one rank: loss within 1e-5 at every
// step, and the first gradient's norm within 1e-6 of f64. In f64 the norm is
// that of one rank within 1e-6 at every step, of ten.
// RUN: python3 %S/Inputs/curves.py tpsp-train %t 40 | FileCheck %s
// CHECK: one rank: loss
// CHECK: dp
// CHECK: fsdp
// CHECK: tp
// CHECK: tp-sp
// CHECK: zero1
// CHECK: hybrid
// CHECK: cp
// CHECK: cp-ring
// CHECK: micro
// CHECK: zero2
// CHECK: forward
// CHECK: overlap
// CHECK: muon
// CHECK: ep
