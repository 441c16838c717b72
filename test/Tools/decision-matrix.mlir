// What docs/DecisionMatrix.md says that the planner chooses, row by row, and
// its times. (The whole 8B and 70B are left out: they take longer.)
// REQUIRES: tpsp-run
// DEFINE: %{model} = llama-3.1-8b
// DEFINE: %{how} = --batch 4 --sequence 4096
// DEFINE: %{import} = mkdir -p %t.dir && cp %S/../Import/Inputs/published/%{model}.json %t.dir/config.json && tpsp-import %t.dir --layers 4 %{how} --dtype bf16
// DEFINE: %{plan} = tpsp-plan --hardware h100-sxm --optimizer adamw --overlap off --max-axes 2 --finalists 30 --rows 30
// DEFINE: %{tight} = %{plan} --micro-batches 1 --rematerialize none

// RUN: %{import} -o %t.8b.mlir
// RUN: %{tight} %t.8b.mlir --devices 8 --memory 6.9GiB | FileCheck %s --check-prefix=SP
// SP: 1 ZeRO-1 2 x TP+SP 4 {{.*}} 49.1 ms {{.*}} 6.2 GiB
// SP: gap 0
// RUN: %{plan} %t.8b.mlir --devices 8 | FileCheck %s --check-prefix=ROOM
// ROOM: 1 ZeRO-1 2 x TP 4 {{.*}} 48.3 ms
// ROOM: ZeRO-1 4 x TP 2 {{.*}} 48.9 ms
// ROOM: ZeRO-1 2 x TP+SP 4 {{.*}} 49.1 ms

// REDEFINE: %{how} = --batch 1 --sequence 8192
// RUN: %{import} -o %t.8b-one.mlir
// RUN: %{plan} %t.8b-one.mlir --devices 16 | FileCheck %s --check-prefix=NODES
// NODES: 1 TP 8 x CP+ZeRO-1 2 {{.*}} 22.8 ms
// NODES: TP+SP 16 {{.*}} 25.7 ms
// NODES: TP+SP 16 {{.*}} 27.0 ms
// NODES: CP+ZeRO-1 2 x TP 8 {{.*}} 28.4 ms
// NODES: TP 16 {{.*}} 44.4 ms {{.*}} attention +12.5 ms

// What TP across nodes costs: tokens/s of 8, 16 and 32 devices.
// RUN: %{plan} %t.8b-one.mlir --devices 8 | FileCheck %s --check-prefix=ACROSS8
// ACROSS8: 1 TP 8 {{.*}} 28.9 ms 283908
// RUN: %{plan} %t.8b-one.mlir --devices 16 | FileCheck %s --check-prefix=ACROSS16
// ACROSS16: 1 TP 8 x CP+ZeRO-1 2 {{.*}} 22.8 ms 358818
// ACROSS16: TP+SP 16 {{.*}} 25.7 ms 319362
// RUN: %{plan} %t.8b-one.mlir --devices 32 | FileCheck %s --check-prefix=ACROSS32
// ACROSS32: 1 TP 8 x CP+ZeRO-1 4 {{.*}} 18.8 ms 435066
// ACROSS32: TP+SP 32 {{.*}} 23.5 ms 348982

// REDEFINE: %{model} = llama-3.1-70b
// REDEFINE: %{how} = --batch 2 --sequence 8192
// RUN: %{import} -o %t.70b-two.mlir
// RUN: %{tight} %t.70b-two.mlir --devices 8 --memory 14GiB | FileCheck %s --check-prefix=NODE
// NODE: 1 TP+SP 8 {{.*}} 137 ms {{.*}} 13.3 GiB
// NODE: TP 8 {{.*}} 130 ms {{.*}} over by 2.8 GiB

// REDEFINE: %{how} = --batch 1 --sequence 65536
// RUN: %{import} -o %t.70b-long.mlir
// RUN: %{plan} %t.70b-long.mlir --devices 16 | FileCheck %s --check-prefix=LONG
// LONG: 1 TP 2 x CP+ZeRO-1 8 {{.*}} 377 ms
// LONG: CP+ZeRO-1 2 x TP 8 {{.*}} 396 ms
// LONG: TP+SP 16 {{.*}} 408 ms
// LONG: CP 2 x TP+SP 8 {{.*}} 413 ms
