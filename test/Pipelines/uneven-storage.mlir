// ZeRO and FSDP on 3, 5, 6 and 7 ranks, which divide no extent of the model's
// matrices: these are cut as rows of elements (docs/decisions/0035). Values,
// gradients and updates are those of one rank, and a rank has its share.
// REQUIRES: tpsp-run
// DEFINE: %{fsdp} = tpsp-run %examples/fsdp.mlir --extent s=4 --grad --optimizer adamw --clip 1 --steps 2 --verify
// DEFINE: %{zero} = tpsp-run %examples/ddp.mlir --extent s=4 --grad --optimizer adamw --clip 1 --steps 2 --verify --optimizer-axes dp

// RUN: %{fsdp} --mesh fsdp=3 --extent b=3 --report %t.fsdp3.json | FileCheck %s
// RUN: %{fsdp} --mesh fsdp=5 --extent b=5 --dtype bf16 | FileCheck %s
// RUN: %{fsdp} --mesh fsdp=7 --extent b=14 --micro-batches 2 --report %t.fsdp7.json | FileCheck %s
// RUN: %{fsdp} --mesh fsdp=3 --extent b=6 --micro-batches 2 --reduce-gradients part --rematerialize full | FileCheck %s
// RUN: tpsp-run %examples/fsdp.mlir --extent s=4 --grad --optimizer muon --steps 2 --verify --mesh fsdp=3 --extent b=3 | FileCheck %s
// RUN: %{fsdp} --mesh fsdp=3 --extent b=3 --hardware h100-sxm --overlap on --bucket-mib 0 | FileCheck %s
// RUN: tpsp-run %examples/hsdp.mlir --mesh dp=3,fsdp=2 --extent b=6,s=4 --grad --optimizer adamw --optimizer-axes dp --steps 2 --verify 2>&1 | FileCheck %s
// RUN: %{zero} --mesh dp=1 --extent b=1 --report %t.zero1.json 2>&1 | FileCheck %s
// RUN: %{zero} --mesh dp=3 --extent b=3 --report %t.zero3.json 2>&1 | FileCheck %s --check-prefixes=CHECK,WHOLE
// RUN: %{zero} --mesh dp=6 --extent b=6 --report %t.zero6.json 2>&1 | FileCheck %s
// RUN: %{zero} --mesh dp=7 --extent b=7 --gather-parameters forward --dtype f16 --loss-scale 1 2>&1 | FileCheck %s
// State that stays whole is named.
// WHOLE: state stays whole on every rank of dp, 14.0 KiB a rank: 'layer0.b1' 4.0 KiB, 'layer0.b2' 1.0 KiB, 'layer0.gain1' 1.0 KiB
// CHECK: all within tolerance

// RUN: python3 %S/Inputs/check-shares.py %t.zero1.json %t.fsdp3.json 3 parameters optimizer
// RUN: python3 %S/Inputs/check-shares.py %t.zero1.json %t.fsdp7.json 7 parameters optimizer
// RUN: python3 %S/Inputs/check-shares.py %t.zero1.json %t.zero3.json 3 optimizer
// RUN: python3 %S/Inputs/check-shares.py %t.zero1.json %t.zero6.json 6 optimizer

// Two collectives a step, as where axes divide: one bucket of gradients of
// matrices, and one of new parameters.
// RUN: tpsp-run %examples/ddp.mlir --mesh dp=3 --extent b=3 --grad --optimizer adamw --optimizer-axes dp 2>/dev/null | FileCheck %s --check-prefix=ONCE
// ONCE: Totals
// ONCE-NEXT: backward all_reduce x1
// ONCE-NEXT: backward reduce_scatter x1 1.0 MiB
// ONCE-NEXT: update all_gather x1 1.0 MiB

// An activation, or a model axis, must divide extents.
// RUN: not tpsp-run %examples/fsdp.mlir --mesh fsdp=3 --extent b=4 2>&1 | FileCheck %s --check-prefix=INPUT
// INPUT: index 'b' of {{.*}} has extent 4, which its axes (fsdp: 3 ranks) do not divide
// RUN: not tpsp-run %examples/mlp-tp.mlir --mesh tp=3 2>&1 | FileCheck %s --check-prefix=MODEL
// MODEL: which its axes (tp: 3 ranks) do not divide
