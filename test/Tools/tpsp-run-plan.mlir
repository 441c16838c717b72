// A compiled plan computes the same as the model, and needs no model.
// REQUIRES: tpsp-run

// RUN: rm -rf %t && mkdir %t && cp %examples/gpt-block-sp.mlir %t/m.mlir
// RUN: tpsp-run %t/m.mlir --grad --emit %t/block.so | FileCheck %s --check-prefix=EMIT
// EMIT: Wrote {{.*}}block.so ({{.*}} KiB); run it with tpsp-run {{.*}}block.so
// RUN: rm %t/m.mlir
// RUN: cd %t && tpsp-run block.so --verify --mesh tp=4 --report r.json --trace t.json --timeline t.svg | FileCheck %s --check-prefix=VERIFIED
// VERIFIED: forward all_gather
// VERIFIED: backward reduce_scatter
// VERIFIED: peak
// VERIFIED: g[wq]
// VERIFIED: all within tolerance
// RUN: grep -q '"location": ".*m.mlir:' %t/r.json
// RUN: grep -q 'all_gather' %t/t.json
// RUN: grep -q 'gpt_block_grad of m.mlir\|of m.mlir' %t/t.svg

// The same arguments give the same results; not bit for bit, for the code is
// for more processors than this one.
// RUN: tpsp-run %examples/gpt-block-sp.mlir --grad --quiet --save-all %t/compiled
// RUN: tpsp-run %t/block.so --quiet --save-all %t/emitted
// RUN: tpsp-run %t/block.so --quiet --weights %t/compiled --verify

// Also in a tool that has no compiler, which says so.
// RUN: %tools_dir/tpsp-run-without-compiler %t/block.so --quiet --weights %t/compiled --verify
// RUN: not %tools_dir/tpsp-run-without-compiler %examples/mlp-sp.mlir 2>&1 | FileCheck %s --check-prefix=COMPILER
// COMPILER: compiler
// RUN: tpsp-run %t/block.so --quiet --backend trace | FileCheck %s --check-prefix=TRACE
// TRACE: all_gather axes=tp

// Other types, streams and programs.
// RUN: tpsp-run %examples/sp-dropout.mlir --grad --overlap on --overlap-chunks 2 --quiet --emit %t/p.so
// RUN: tpsp-run %t/p.so --verify --quiet --steps 2
// RUN: tpsp-run %examples/vocab-parallel.mlir --grad --dtype bf16 --quiet --emit %t/p.so --target-cpu x86-64-v2
// RUN: tpsp-run %t/p.so --verify --quiet
// RUN: tpsp-run %examples/moe-ep.mlir --mesh ep=2,tp=2 --grad --micro-batches 2 --micro-batch-index g --quiet --emit %t/p.so
// RUN: tpsp-run %t/p.so --verify --quiet --threads 2

// On a processor without conversions of f16 they are calls.
// RUN: tpsp-run %examples/vocab-parallel.mlir --grad --dtype f16 --quiet --emit %t/p.so --target-cpu x86-64-v2
// RUN: tpsp-run %t/p.so --verify --quiet

// Refusals, before anything runs.
// RUN: not tpsp-run %t/block.so --mesh tp=2 2>&1 | FileCheck %s --check-prefix=MESH
// MESH: cannot run '{{.*}}block.so' with --mesh tp=2: it was compiled for tp=4; compile the model for this mesh
// RUN: not tpsp-run %t/block.so --grad 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: '{{.*}}block.so' is compiled, and --grad is about compiling; give it to tpsp-run MODEL.mlir --emit
// RUN: not tpsp-run %t/block.so --simulate 2>&1 | FileCheck %s --check-prefix=SIMULATE
// SIMULATE: --simulate is about compiling
// RUN: not tpsp-run %t/absent.so 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: cannot run '{{.*}}absent.so': No such file or directory
// RUN: cp %t/block.so %t/cut.so && truncate -s -9 %t/cut.so
// RUN: not tpsp-run %t/cut.so 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: cannot run '{{.*}}cut.so': {{.*}} it was cut short, or tpsp-run --emit did not make it
// RUN: cp %t/block.so %t/bad.so && printf x | dd of=%t/bad.so bs=1 seek=5000 conv=notrunc status=none
// RUN: not tpsp-run %t/bad.so 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: its bytes are not those that were written
// RUN: cp %s %t/text.so && not tpsp-run %t/text.so 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: it does not end as a compiled plan does
// RUN: not tpsp-run %examples/fsdp.mlir --emit %t/x.so --verify 2>&1 | FileCheck %s --check-prefix=VERIFY
// VERIFY: --verify does not go with --emit
// RUN: not tpsp-run %examples/fsdp.mlir --emit %t/x.so --report %t/x.json 2>&1 | FileCheck %s --check-prefix=WRITES
// WRITES: --report does not go with --emit
// RUN: not tpsp-run %examples/fsdp.mlir --emit %t/no/x.so 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: cannot write '{{.*}}x.so': No such file or directory
// RUN: not tpsp-run %examples/fsdp.mlir --target-cpu x86-64-v3 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: --target-cpu goes with --emit
// RUN: not ls %t/x.so
