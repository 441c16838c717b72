// RUN: tpsp-opt %s --verify-roundtrip --split-input-file | FileCheck %s

// CHECK: tpsp.mesh @mesh <tp = 4 : model>
tpsp.mesh @mesh <tp = 4 : model>

// -----

// CHECK: tpsp.mesh @mesh <dp = 2 : data, cp = 3, tp = 1 : model>
tpsp.mesh @mesh <dp = 2 : data, cp = 3, tp = 1 : model>

// -----

// A mesh without axes: one rank.
// CHECK: tpsp.mesh @one <>
tpsp.mesh @one <>

// -----

// CHECK: tpsp.mesh @mesh <tp = 2> {note = "eight cards"}
tpsp.mesh @mesh <tp = 2> {note = "eight cards"}

// -----

// CHECK: tpsp.mesh @mesh <pp = 4 : stage, tp = 8 : model>
tpsp.mesh @mesh <pp = 4 : stage, tp = 8 : model>
