// Forty steps on every mesh are those of one rank: loss within 1e-5 at every
// step, and the first gradient's norm within 1e-6 of f64. In f64 the norm is
// that of one rank within 1e-6 at every step, of ten. Every night by every
// strategy.
// RUN: python3 %S/Inputs/curves.py tpsp-train %t 40 hybrid cp-ring zero2 overlap muon ep | FileCheck %s
// CHECK: one rank: loss
// CHECK: hybrid
// CHECK: cp-ring
// CHECK: zero2
// CHECK: overlap
// CHECK: muon
// CHECK: ep

// RUN: %if nightly %{ python3 %S/Inputs/curves.py tpsp-train %t 40 | FileCheck %s --check-prefix=ALL %}
// ALL: one rank: loss
// ALL: dp
// ALL: fsdp
// ALL: tp
// ALL: tp-sp
// ALL: zero1
// ALL: hybrid
// ALL: cp
// ALL: cp-ring
// ALL: micro
// ALL: zero2
// ALL: forward
// ALL: overlap
// ALL: muon
// ALL: ep
