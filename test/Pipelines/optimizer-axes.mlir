// ZeRO-1 by one more axis on the optimizer's state: each gradient is
// reduce-scattered, each new parameter gathered, in buckets. Bytes are those of
// data parallelism, and the state is divided to the byte.
// REQUIRES: tpsp-run
// DEFINE: %{run} = tpsp-run %examples/ddp.mlir --grad --quiet --optimizer adamw

// RUN: %{run} --report %t.ddp.json
// RUN: %{run} --optimizer-axes dp --report %t.zero.json
// RUN: %{run} --optimizer-axes dp --report %t.small.json --bucket-mib 0
// RUN: python3 %S/Inputs/check-optimizer-axes.py %t.ddp.json %t.zero.json %t.small.json 4 20

// Buckets of half a MiB hold some of the matrices each.
// RUN: tpsp-run %examples/ddp.mlir --grad --optimizer adamw --optimizer-axes dp --bucket-mib 0.5 | FileCheck %s
// CHECK: Totals
// CHECK-NEXT: backward reduce_scatter x[[N:[2-9]]] 1.1 MiB
// CHECK-NEXT: update all_gather x{{[2-9]}} 1.1 MiB

// The state of FSDP's parameters is where they are: nothing is gathered at the
// end.
// RUN: tpsp-run %examples/fsdp.mlir --grad --optimizer adamw --clip 1 | FileCheck %s --check-prefix=FSDP
// FSDP: Totals
// FSDP-NOT: update all_gather
// FSDP: update all_reduce x1 12 B
