// The peaks of stages' memory that are predicted are those that are allocated.
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{run} = tpsp-run %examples/pp.mlir --grad --optimizer adamw --report
// DEFINE: %{more} =
// DEFINE: %{compare} = %{run} %t/p.json --simulate %{more} && %{run} %t/r.json %{more} && python3 %S/Inputs/compare-memory.py %t/p.json %t/r.json

// REDEFINE: %{more} = --micro-batches 4
// RUN: %{compare} | FileCheck %s
// REDEFINE: %{more} = --micro-batches 8 --mesh pp=4,tp=1 --stage-schedule gpipe
// RUN: %{compare} | FileCheck %s --check-prefix FOUR
// REDEFINE: %{more} = --micro-batches 4 --stage-chunks 2 --stage-schedule zero-bubble --clip 1
// RUN: %{compare} | FileCheck %s
// REDEFINE: %{more} = --micro-batches 2 --dtype bf16 --overlap on --rematerialize full
// RUN: %{compare} | FileCheck %s
// CHECK: equal: 2 stages
// FOUR: equal: 4 stages
