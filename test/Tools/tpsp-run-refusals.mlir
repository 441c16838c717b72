// Flags of the design that this build cannot honour are refused in a sentence,
// with status 2, in every way that they can be written.
// REQUIRES: tpsp-run

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --simulate 2>&1 | FileCheck %s --check-prefix=SIMULATE
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --simulate=1024 2>&1 | FileCheck %s --check-prefix=SIMULATE
// RUN: %S/Inputs/exits 2 tpsp-run --simulate 1024 %examples/mlp-sp.mlir 2>&1 | FileCheck %s --check-prefix=SIMULATE
// SIMULATE: {{^}}tpsp-run: --simulate needs the simulator, which is not built yet; run the program without it to measure{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --strategy auto 2>&1 | FileCheck %s --check-prefix=STRATEGY
// STRATEGY: {{^}}tpsp-run: --strategy needs the planner, which is not built yet; the program runs as it is written{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --overlap 2>&1 | FileCheck %s --check-prefix=OVERLAP
// OVERLAP: {{^}}tpsp-run: --overlap needs the overlap scheduler, which is not built yet; commands run one after another{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --hardware h100.json 2>&1 | FileCheck %s --check-prefix=HARDWARE
// HARDWARE: {{^}}tpsp-run: --hardware goes with --simulate, which is not built yet{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --calibrate 2>&1 | FileCheck %s --check-prefix=CALIBRATE
// CALIBRATE: {{^}}tpsp-run: --calibrate goes with --simulate, which is not built yet{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --trace t.json 2>&1 | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}tpsp-run: --trace needs the trace writer, which is not built yet; --backend trace prints the calls of one rank{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --emit plan 2>&1 | FileCheck %s --check-prefix=EMIT
// EMIT: {{^}}tpsp-run: --emit needs compiled plans, which are not built yet; tpsp-run compiles in memory{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --weights w.safetensors 2>&1 | FileCheck %s --check-prefix=WEIGHTS
// WEIGHTS: {{^}}tpsp-run: --weights needs the safetensors reader, which is not built yet; arguments are random (--seed){{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --save g.safetensors 2>&1 | FileCheck %s --check-prefix=SAVE
// SAVE: {{^}}tpsp-run: --save needs the safetensors writer, which is not built yet{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --backend cuda 2>&1 | FileCheck %s --check-prefix=CUDA
// CUDA: {{^}}tpsp-run: --backend cuda needs the CUDA backend, which is not built yet; use --backend cpu{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --backend tpu 2>&1 | FileCheck %s --check-prefix=BACKEND
// BACKEND: {{^}}tpsp-run: no backend 'tpu'; there are: cpu, trace{{$}}

// The trace backend has no results to compare and nothing to measure.
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --backend trace --verify 2>&1 | FileCheck %s --check-prefix=VERIFY
// VERIFY: {{^}}tpsp-run: --verify needs a run, and --backend trace runs nothing; use --backend cpu{{$}}
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --backend trace --report %t.json 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: not ls %t.json
// REPORT: {{^}}tpsp-run: --report needs a run, and --backend trace runs nothing; use --backend cpu{{$}}
