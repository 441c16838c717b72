// The overlap of hand-written tensor parallelism does not change results.
// REQUIRES: tpsp-run
// DEFINE: %{example} =
// DEFINE: %{verify} = tpsp-run %examples/%{example}.mlir --grad --verify --quiet --overlap backward
// REDEFINE: %{example} = gpt-block-tp
// RUN: %{verify}
// RUN: %{verify} --mesh tp=2 --dtype bf16
// REDEFINE: %{example} = gpt-block-sp
// RUN: %{verify}
// REDEFINE: %{example} = tp-sp-fsdp
// RUN: %{verify} --micro-batches 2
// REDEFINE: %{example} = moe-ep
// RUN: %{verify}

// It hides less than a schedule that may move everything, and has no pieces.
// RUN: tpsp-run %examples/llama3-70b-block.mlir --grad --simulate --hardware h100-sxm --overlap backward | FileCheck %s
// CHECK-NOT: pieces
// CHECK: hidden {{[1-4][0-9]}} %

// RUN: not tpsp-run %examples/gpt-block-tp.mlir --overlap backward --overlap-memory 0.1 2>&1 | FileCheck %s --check-prefix=MEMORY
// MEMORY: --overlap-memory goes with --overlap on
