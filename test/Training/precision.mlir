// Masks that differ from step to step and not from mesh to mesh, loss scales
// that skip the same steps on every mesh, and gradients summed in f32.
// RUN: python3 %S/Inputs/precision.py tpsp-train %t | FileCheck %s
// CHECK: dropout
// CHECK: loss scale
// CHECK: f16
// CHECK: growth
// CHECK: bf16
