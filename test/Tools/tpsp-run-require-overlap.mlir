// Overlap as a contract: kept, or refused with the exposed part and the reason.
// REQUIRES: tpsp-run

// RUN: tpsp-run %examples/llama3-70b-block.mlir --grad --simulate --hardware h100-sxm --overlap on --overlap-memory 0.5 --require-overlap 0.85 | FileCheck %s --check-prefix=KEPT
// KEPT: hidden {{8[5-9]|9[0-9]}} %

// RUN: %S/Inputs/exits 1 tpsp-run %examples/llama3-70b-block.mlir --grad --simulate --hardware h100-sxm --overlap on --overlap-chunks 1 --require-overlap 0.9 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: error: {{[0-9.]+}} % of the communication is hidden, less than the 90.0 % that is required: {{[0-9.]+}} us of {{[0-9.]+}} us are exposed on h100-sxm
// REFUSED: llama3-70b-block.mlir:{{.*}}: note: {{.*}}: {{[0-9.]+}} us of {{[0-9.]+}} us exposed; a dependence: it begins when {{.*}} has made what it sends, and {{.*}} waits for it

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --require-overlap 0.5 2>&1 | FileCheck %s --check-prefix=OFF
// OFF: --require-overlap needs --overlap on: without it all communication is exposed
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --overlap on --require-overlap 1.5 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: --require-overlap

// One operation's own requirement.
// RUN: sed 's/einsum %w1, %v/& {tpsp.overlap = 0.99}/' %examples/mlp-sp.mlir > %t.mlir
// RUN: %S/Inputs/exits 1 tpsp-run %t.mlir --simulate --hardware h100-sxm --overlap on --overlap-chunks 1 2>&1 | FileCheck %s --check-prefix=OWN
// OWN: error: {{[0-9.]+}} % of it is hidden, less than 99.0 %, which is required here: reduce_scatter
// RUN: sed 's/einsum %w1, %v/& {tpsp.overlap = 2.0}/' %examples/mlp-sp.mlir > %t.mlir
// RUN: %S/Inputs/exits 1 tpsp-run %t.mlir 2>&1 | FileCheck %s --check-prefix=SHARE
// SHARE: tpsp.overlap is a share of communication, from 0.0 to 1.0, not 2.0
