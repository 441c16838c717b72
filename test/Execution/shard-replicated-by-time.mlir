// The decisions of --shard-replicated time are run and verified: applied on a
// machine where they pay, and not on one where they do not.
// REQUIRES: tpsp-run
// RUN: tpsp-run %examples/gpt-block-tp.mlir --grad --verify --shard-replicated time --hardware a100-sxm | FileCheck %s --check-prefixes=CHECK,DONE
// RUN: tpsp-run %examples/gpt-block-tp.mlir --grad --verify --shard-replicated time --hardware h100-sxm | FileCheck %s --check-prefixes=CHECK,LEFT
// DONE: forward{{ +}}reduce_scatter
// LEFT-NOT: reduce_scatter
// CHECK: all within tolerance
