// RUN: not tpsp-opt %s --tpsp-set-mesh="mesh=tp" 2>&1 | FileCheck %s
// RUN: not tpsp-opt %s --tpsp-set-mesh="mesh=tp=" 2>&1 | FileCheck %s
// RUN: not tpsp-opt %s --tpsp-set-mesh="mesh=tp=0" 2>&1 | FileCheck %s
// RUN: not tpsp-opt %s --tpsp-set-mesh="mesh=tp=2.5" 2>&1 | FileCheck %s

// CHECK: [[@LINE+1]]:1: error: {{.*}}expected axis=size with a size of at least 1, not 'tp
tpsp.mesh @mesh <tp = 4>
