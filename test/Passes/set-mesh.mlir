// RUN: tpsp-opt %s --tpsp-set-mesh="mesh=tp=8" | FileCheck %s --check-prefix=ONE
// RUN: tpsp-opt %s --tpsp-set-mesh="mesh=tp=1,dp=3" | FileCheck %s --check-prefix=TWO
// RUN: tpsp-opt %s --tpsp-set-mesh | FileCheck %s --check-prefix=NONE

// Roles and the order of axes stay.
// ONE: tpsp.mesh @mesh <dp = 2 : data, tp = 8 : model>
// TWO: tpsp.mesh @mesh <dp = 3 : data, tp = 1 : model>
// NONE: tpsp.mesh @mesh <dp = 2 : data, tp = 4 : model>
tpsp.mesh @mesh <dp = 2 : data, tp = 4 : model>
