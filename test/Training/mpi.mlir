// Training under mpirun is training with threads, bit for bit: losses,
// evaluations and checkpoints, also of a run that goes on with other processes.
// REQUIRES: mpi, tpsp-run

// RUN: rm -rf %t && mkdir %t
// RUN: python3 %S/Inputs/write-model.py %t/zero1.mlir "dp = 2 : data, tp = 2 : model" x.b=@dp x.s=@tp w.h=@tp w.e=@tp w.v=@tp
// RUN: tpsp-train %t/zero1.mlir --optimizer-axes dp --data %t/text --eval-data %t/text --eval-every 5 --eval-batches 2 --steps 10 --save-every 5 --quiet --out %t/threads
// RUN: timeout 1200 %mpirun -n 4 tpsp-train %t/zero1.mlir --optimizer-axes dp --data %t/text --eval-data %t/text --eval-every 5 --eval-batches 2 --steps 10 --save-every 5 --quiet --out %t/processes
// RUN: cmp %t/threads/step-00000010/parameters.safetensors %t/processes/step-00000010/parameters.safetensors
// RUN: cmp %t/threads/step-00000010/state.safetensors %t/processes/step-00000010/state.safetensors
// RUN: sed 's/"seconds.*per_second":[^,}]*//' %t/threads/metrics.jsonl > %t/wanted
// RUN: sed 's/"seconds.*per_second":[^,}]*//' %t/processes/metrics.jsonl | diff %t/wanted -

// RUN: mkdir %t/on && cp -r %t/threads/step-00000005 %t/on
// RUN: timeout 1200 %mpirun -n 4 tpsp-train %t/zero1.mlir --optimizer-axes dp --data %t/text --steps 10 --quiet --resume %t/on
// RUN: cmp %t/threads/step-00000010/state.safetensors %t/on/step-00000010/state.safetensors

// A failure of the first process is printed once and ends all.
// RUN: %S/../Tools/Inputs/exits 1 timeout 1200 %mpirun -n 4 tpsp-train %t/zero1.mlir --optimizer-axes dp --data %t/text --steps 10 --quiet --out %t/processes 2>&1 | FileCheck %s
// CHECK-COUNT-1: tpsp-train: '{{.*}}processes' has checkpoints
// CHECK-NOT: tpsp-train:
