// Options that --calibrate rejects. The measurements themselves are tested by
// benchmarks/prediction, which takes minutes.
// REQUIRES: tpsp-run

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --calibrate 2>&1 | FileCheck %s --check-prefix=MODEL
// RUN: %S/Inputs/exits 2 tpsp-run --calibrate --simulate 2>&1 | FileCheck %s --check-prefix=MODEL
// MODEL: {{^}}tpsp-run: --calibrate measures this machine and runs no model; give the file that it writes to --simulate --hardware{{$}}
// RUN: %S/Inputs/exits 2 tpsp-run --calibrate --backend trace 2>&1 | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}tpsp-run: --backend trace runs nothing that could be measured; --calibrate takes --backend cpu or cuda{{$}}
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir -o %t.json 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: {{^}}tpsp-run: -o goes with --calibrate{{$}}
