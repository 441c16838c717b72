// Checkpoints: whatever ends a run, the last one is whole, and a run that goes
// on from it is the run that never ended.
// RUN: python3 %S/Inputs/resume.py tpsp-run tpsp-train %t | FileCheck %s
// CHECK: bit for bit
// CHECK: on another mesh
// CHECK: 50 kills
// CHECK: full disk
// CHECK: refusals
// CHECK: interrupted
// CHECK: not finite
