// The epilogues of the examples' matmuls, and of their cuts.

// A GPT block under tensor parallelism. A collective follows wo and w2, so
// their biases stay kernels.
// RUN: tpsp-run %examples/gpt-block-tp.mlir --grad --epilogues on | FileCheck %s --check-prefix=GPT
// GPT: Epilogues of matmuls
// GPT-NEXT: bias {{ *}}q0, k0, v0
// GPT-NEXT: bias,keep,gelu {{ *}}m0
// GPT-NEXT: slope
// GPT-NEXT: sum_a
// GPT-NOT: a0
// GPT: Memory

// Under sequence parallelism the first product is a ring's, tile by tile: each
// tile adds the same vector, and keeps its own part of GELU's argument.
// RUN: tpsp-opt %examples/gpt-block-sp.mlir --tpsp-pipeline="grad overlap=on overlap-chunks=2 hardware=h100-sxm" | FileCheck %s --check-prefix=RING
// RING: plan.program @block_grad
// RING: plan.matmul {{.*}} reads(%[[B:[0-9]+]] : memref<256xf32>) writes(%{{[0-9]+}} : memref<16384xf32>) {{.*}}epilogue = ["bias", "keep", "gelu"]
// RING-COUNT-3: plan.matmul {{.*}} reads(%[[B]] : memref<256xf32>) writes(%{{[0-9]+}} : memref<16384xf32>) {{.*}}epilogue = ["bias", "keep", "gelu"]
// In the backward pass the slope's product is cut as the forward product was.
// RING-COUNT-4: plan.matmul {{.*}} reads(%{{[0-9]+}} : memref<16384xf32>) {{.*}}epilogue = ["slope"]

// The report has the plan's epilogues.
// RUN: tpsp-run %examples/mlp-sp.mlir --grad --simulate --quiet --epilogues on --report %t
// RUN: FileCheck %s --check-prefix=REPORT < %t
// REPORT: "epilogues": [
// REPORT: "matmul": "y"
// REPORT: "location": "{{.*}}mlp-sp.mlir:10:8"
// REPORT: "keep"
// REPORT: "gelu"
// REPORT: "commands": 1

// Without them there is none; a plan without them takes longer.
// RUN: tpsp-run %examples/mlp-sp.mlir --grad --simulate --quiet --epilogues off --hardware h100-sxm --report %t.off
// RUN: tpsp-run %examples/mlp-sp.mlir --grad --simulate --quiet --hardware h100-sxm --report %t.on
// RUN: FileCheck %s --check-prefix=OFF < %t.off
// OFF: "epilogues": []
// RUN: python3 -c "import json,sys; on,off=[json.load(open(f))['time']['step'] for f in sys.argv[1:]]; assert on<off,(on,off)" %t.on %t.off
