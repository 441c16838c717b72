// A process for each rank computes the same as threads, byte for byte.
// REQUIRES: mpi, tpsp-run

// RUN: tpsp-run %examples/gpt-block-sp.mlir --grad --quiet --save-all %t.threads
// RUN: timeout 1200 %mpirun -n 4 tpsp-run %examples/gpt-block-sp.mlir --grad --verify --quiet --save-all %t.processes
// RUN: cmp %t.threads %t.processes

// RUN: tpsp-run %examples/fsdp.mlir --mesh fsdp=4 --grad --quiet --save-all %t.threads
// RUN: timeout 1200 %mpirun -n 4 tpsp-run %examples/fsdp.mlir --mesh fsdp=4 --grad --verify --quiet --save-all %t.processes
// RUN: cmp %t.threads %t.processes
// RUN: timeout 1200 %mpirun -n 4 tpsp-run %examples/fsdp.mlir --mesh fsdp=4 --grad --verify --quiet --bucket-layers on --save-all %t.processes
// RUN: cmp %t.threads %t.processes

// Two axes, all-to-alls, bf16.
// RUN: tpsp-run %examples/moe-ep.mlir --mesh ep=2,tp=2 --grad --quiet --save-all %t.threads
// RUN: timeout 1200 %mpirun -n 4 tpsp-run %examples/moe-ep.mlir --mesh ep=2,tp=2 --grad --verify --quiet --save-all %t.processes
// RUN: cmp %t.threads %t.processes
// RUN: tpsp-run %examples/hsdp.mlir --mesh dp=2,fsdp=2 --dtype bf16 --grad --quiet --save %t.threads
// RUN: timeout 1200 %mpirun -n 4 tpsp-run %examples/hsdp.mlir --mesh dp=2,fsdp=2 --dtype bf16 --grad --verify --quiet --save %t.processes
// RUN: cmp %t.threads %t.processes

// One process, and two.
// RUN: timeout 1200 %mpirun -n 1 tpsp-run %examples/gpt-block-sp.mlir --mesh tp=1 --grad --verify --quiet
// RUN: timeout 1200 %mpirun -n 2 tpsp-run %examples/gpt-block-sp.mlir --mesh tp=2 --grad --verify --steps 3 --report %t.json | FileCheck %s --check-prefix=TEXT
// RUN: FileCheck %s --check-prefix=JSON < %t.json

// Only the first process prints.
// TEXT-COUNT-1: Memory per rank
// TEXT-NOT: Memory per rank
// TEXT: all within tolerance
// JSON: "ranks": 2

// A timeline of the first process's rank.
// RUN: timeout 1200 %mpirun -n 2 tpsp-run %examples/gpt-block-sp.mlir --mesh tp=2 --quiet --trace %t.trace
// RUN: grep -q all_gather %t.trace

// A compiled plan, too.
// RUN: tpsp-run %examples/gpt-block-sp.mlir --grad --quiet --emit %t.so
// RUN: tpsp-run %t.so --quiet --save-all %t.threads
// RUN: timeout 1200 %mpirun -n 4 tpsp-run %t.so --verify --quiet --save-all %t.processes
// RUN: cmp %t.threads %t.processes
