// Flags of the design that this build cannot honour are refused in a sentence,
// with status 2, in every way that they can be written.
// REQUIRES: tpsp-run

// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-sp.mlir --overlap on --hardware h300 2>&1 | FileCheck %s --check-prefix=OVERLAP
// OVERLAP: h300

// Such options may have the value that this build supports; others are wrong.
// RUN: tpsp-run %examples/mlp-sp.mlir --quiet --overlap off
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --overlap maybe 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --overlap 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: {{^}}tpsp-run: --{{overlap: maybe not in {off,backward,parameters,on}|overlap: 1 required .*}}

// The same sentence with every GPU hidden, whatever the machine.
// RUN: env CUDA_VISIBLE_DEVICES= %S/Inputs/exits 1 tpsp-run %examples/mlp-sp.mlir --backend cuda 2>&1 | FileCheck %s --check-prefix=CUDA
// CUDA: {{^}}tpsp-run: --backend cuda: {{libtpsp_cuda.so is not beside .* \(it is built where CMake finds the CUDA 13 toolkit and NCCL\)|there is no NVIDIA driver on this machine; install one that supports CUDA 13.0, or use --backend cpu|the NVIDIA driver sees no GPU; .*use --backend cpu}}{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --graph off 2>&1 | FileCheck %s --check-prefix=GRAPH
// GRAPH: {{^}}tpsp-run: --graph off goes with --backend cuda{{$}}
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --nccl-always 2>&1 | FileCheck %s --check-prefix=NCCL
// NCCL: {{^}}tpsp-run: --nccl-always goes with --backend cuda, or with --emit{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --backend tpu 2>&1 | FileCheck %s --check-prefix=BACKEND
// BACKEND: {{^}}tpsp-run: no backend 'tpu'; there are: cpu, trace{{$}}

// The trace backend has no results to compare and nothing to measure.
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --backend trace --verify 2>&1 | FileCheck %s --check-prefix=VERIFY
// VERIFY: {{^}}tpsp-run: --verify needs a run, and --backend trace runs nothing; use --backend cpu{{$}}
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --backend trace --report %t.json 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: not ls %t.json
// REPORT: {{^}}tpsp-run: --report needs a run, and --backend trace runs nothing; use --backend cpu{{$}}
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --backend trace --trace %t.trace 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --backend trace --weights %t.in 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --backend trace --save %t.out 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not ls %t.trace
// RUN: not ls %t.out
// NOTHING: {{^}}tpsp-run: --{{trace|weights|save}} needs a run, and --backend trace runs nothing; use --backend cpu{{$}}
