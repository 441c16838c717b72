// The type in which gradients are summed, and when: the bytes and the counts of
// the ledger follow from the types alone.
// REQUIRES: tpsp-run
// DEFINE: %{run} = tpsp-run %examples/ddp.mlir --grad --dtype bf16 --optimizer adamw --optimizer-axes dp --bucket-mib 0
// DEFINE: %{parts} = --micro-batches 2

// Gradients of 16 bits in 16 bits; in f32 twice the bytes.
// RUN: %{run} | FileCheck %s --check-prefix=OWN
// OWN: backward reduce_scatter x20 578.6 KiB
// RUN: %{run} --reduce-dtype bf16 | FileCheck %s --check-prefix=OWN
// RUN: %{run} --reduce-dtype f32 | FileCheck %s --check-prefix=WIDE
// WIDE: backward reduce_scatter x20 1.1 MiB

// The type decides, not its size.
// RUN: tpsp-opt %examples/ddp.mlir --tpsp-set-element-type=dtype=f16 --tpsp-collective-pipeline="grad=true reduce-dtype=bf16" | FileCheck %s --check-prefix=TYPE
// TYPE: tpsp.add %{{.*}} : tensor<{{.*}}xf16, #tpsp.idx<{{.*}} | sum@dp>> -> tensor<{{.*}}xbf16, #tpsp.idx<{{.*}} | sum@dp>>
// TYPE: tpsp.all_reduce {{.*}} : (tensor<{{[0-9x]+}}xbf16,

// Once a step for any number of parts, or once for each.
// RUN: %{run} %{parts} | FileCheck %s --check-prefix=OWN
// RUN: %{run} %{parts} --reduce-gradients part | FileCheck %s --check-prefix=PARTS
// PARTS: backward reduce_scatter x40 1.1 MiB

// Added up in f32 before they are reduced in 16 bits.
// RUN: sed "s/dp = 4/dp = 2/" %examples/ddp.mlir | tpsp-opt --tpsp-set-element-type=dtype=bf16 --tpsp-collective-pipeline="grad=true micro-batches=4 overlap=on" | FileCheck %s --check-prefix=SUM
// SUM: tpsp.add %{{.*}}tpsp.origin = #tpsp.origin<backward, part = 1>} : tensor<{{.*}}xbf16, #tpsp.idx<{{.*}} | sum@dp>> -> tensor<{{.*}}xf32, #tpsp.idx<{{.*}} | sum@dp>>
// SUM: tpsp.add %{{.*}}tpsp.origin = #tpsp.origin<backward, part = 3>} : (tensor<{{.*}}xf32, #tpsp.idx<{{.*}} | sum@dp>>, tensor<{{.*}}xbf16, #tpsp.idx<{{.*}} | sum@dp>>) -> tensor<{{.*}}xbf16, #tpsp.idx<{{.*}} | sum@dp>>
// SUM: tpsp.all_reduce {{.*}}bf16

// Gathered at the beginning of the next step: the same bytes, in another phase.
// RUN: %{run} --gather-parameters forward | FileCheck %s --check-prefix=FORWARD
// FORWARD: forward all_gather x20 578.6 KiB
// FORWARD: backward reduce_scatter x20 578.6 KiB
// FORWARD-NOT: update all_gather

// RUN: not tpsp-run %examples/ddp.mlir --reduce-dtype f32 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: --reduce-dtype says how gradients are summed, and there are none without --grad
// RUN: not tpsp-run %examples/ddp.mlir --grad --loss-scale dynamic 2>&1 | FileCheck %s --check-prefix=UPDATE
// UPDATE: --loss-scale says how parameters are updated, and without --optimizer none are
// RUN: not tpsp-run %examples/ddp.mlir --grad --optimizer adamw --loss-scale much 2>&1 | FileCheck %s --check-prefix=MUCH
// MUCH: 'much' is not none, a number from 1 to 2^30, dynamic or dynamic:1024

// Skipped if numbers are not finite, verified if all are.
// RUN: tpsp-run %examples/ddp.mlir --grad --optimizer adamw --clip 1 --loss-scale dynamic:256 --verify --steps 2 | FileCheck %s --check-prefix=VERIFIED
// RUN: tpsp-run %examples/gpt-block-dropout.mlir --grad --optimizer adamw --loss-scale 256 --verify | FileCheck %s --check-prefix=VERIFIED
// RUN: tpsp-run %examples/gpt-block-dropout.mlir --grad --optimizer adamw --dropout off --verify | FileCheck %s --check-prefix=VERIFIED
// VERIFIED: all within tolerance
