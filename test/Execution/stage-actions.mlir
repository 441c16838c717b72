// Orders of actions that torch.distributed.pipelining wrote run, and are priced. (The files of Inputs/actions are
// those of its ScheduleInterleaved1F1B, ScheduleInterleavedZeroBubble and ScheduleZBVZeroBubble.)
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{run} = tpsp-run %examples/pp.mlir --grad --verify --quiet --micro-batches

// RUN: %{run} 4 --mesh pp=2,tp=1 --stage-chunks 2 --stage-actions %S/Inputs/actions/interleaved-1f1b.csv
// RUN: %{run} 4 --mesh pp=2,tp=1 --stage-chunks 2 --stage-actions %S/Inputs/actions/zero-bubble-with-transfers.csv --optimizer adamw --clip 1 2>&1 | FileCheck %s --check-prefix=LEFT
// LEFT: warning: {{.*}}zero-bubble-with-transfers.csv: {{[0-9]+}} reductions and waits are left out
// RUN: %{run} 8 --mesh pp=4,tp=1 --stage-actions %S/Inputs/actions/zero-bubble-of-4.csv --overlap on
// RUN: %{run} 4 --mesh pp=2,tp=1 --stage-chunks 2 --stage-placement folded --stage-actions %S/Inputs/actions/zbv.csv --optimizer adamw --clip 1
// RUN: printf '0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1B0,1F1,1B1\n' > %t/pair.csv
// RUN: %{run} 2 --stage-actions %t/pair.csv

// The stage's order is that of the file.
// RUN: printf '0F0,0F1,0B1,0B0\n1F0,1F1,1B1,1B0\n' > %t/back.csv
// RUN: %{run} 2 --stage-actions %t/back.csv
// RUN: %{run} 2 --stage-actions %t/back.csv --overlap on --optimizer adamw

// What is written is read again, and takes as long.
// RUN: tpsp-run %examples/pp.mlir --grad --micro-batches 8 --mesh pp=4,tp=1 --stage-schedule zero-bubble --simulate --hardware h100-sxm --save-stage-actions %t/ours.csv | grep ' step ' | sed 's/.*step *//' > %t/ours.txt
// RUN: tpsp-run %examples/pp.mlir --grad --micro-batches 8 --mesh pp=4,tp=1 --stage-actions %t/ours.csv --simulate --hardware h100-sxm > %t/given.log
// RUN: grep ' step ' %t/given.log | sed 's/.*step *//' | diff %t/ours.txt -
// RUN: FileCheck %s --check-prefix=GIVEN < %t/given.log
// GIVEN: 4 stages over @pp, 1 chunk each, 8 micro-batches, actions of {{.*}}ours.csv
// RUN: %{run} 8 --mesh pp=4,tp=1 --stage-actions %t/ours.csv

// Orders that are wrong.
// RUN: not tpsp-run %examples/pp.mlir --grad --micro-batches 4 --mesh pp=2,tp=1 --stage-chunks 2 --stage-actions %S/Inputs/actions/zbv.csv 2>&1 | FileCheck %s --check-prefix=FOLDED
// FOLDED: zbv.csv: row {{[12]}}, cell {{[0-9]+}}, {{.*}}: chunk {{[23]}} is on stage {{[01]}}, because chunk c is on stage c mod 2; if chunks go to the last stage and back, give --stage-placement folded
// RUN: not tpsp-run %examples/pp.mlir --grad --micro-batches 4 --mesh pp=2,tp=1 --stage-chunks 2 --stage-placement folded --stage-actions %S/Inputs/actions/interleaved-1f1b.csv 2>&1 | FileCheck %s --check-prefix=CYCLIC
// CYCLIC: interleaved-1f1b.csv: row {{[12]}}, cell {{[0-9]+}}, {{.*}}: chunk {{[23]}} is on stage {{[01]}}, because the chunks go to the last stage and back; without --stage-placement folded they do not go back
// RUN: printf '0F0,0SEND_F0,3F0,3B0,3SEND_B0,0B0\n1RECV_F0,1F0,1SEND_F0,2RECV_F0,2F0,2B0,1B0\n' > %t/itself.csv
// RUN: not tpsp-run %examples/pp.mlir --grad --micro-batches 1 --mesh pp=2,tp=1 --stage-chunks 2 --stage-placement folded --stage-actions %t/itself.csv 2>&1 | FileCheck %s --check-prefix=ITSELF
// ITSELF: itself.csv: row 2, cell 3, 1SEND_F0: chunks 1 and 2 are both on stage 1, which sends nothing to itself
// RUN: printf '0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n' > %t/circle.csv
// DEFINE: %{two} = not tpsp-run %examples/pp.mlir --grad --micro-batches 2
// RUN: %{two} --stage-actions %t/circle.csv 2>&1 | FileCheck %s --check-prefix=CIRCLE
// RUN: %{two} --stage-actions %t/circle.csv --simulate --hardware h100-sxm 2>&1 | FileCheck %s --check-prefix=CIRCLE
// CIRCLE: circle.csv: the actions wait for each other: row 1, cell 2, 0B0 waits for 1SEND_B0; row 2, cell 1, 1F1 waits for 0SEND_F1
// RUN: printf '0F0,0F1,0B0\n1F0,1B0,1F1,1B1\n' > %t/lost.csv
// RUN: %{two} --stage-actions %t/lost.csv 2>&1 | FileCheck %s --check-prefix=LOST
// LOST: lost.csv: row 1 lacks 0B1: the gradients of micro-batch 1 would be lost
// RUN: printf '0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n' > %t/right.csv
// RUN: %{two} --stage-actions %t/right.csv --stage-bound 1 2>&1 | FileCheck %s --check-prefix=BOUND
// BOUND: right.csv: row 1, cell 2, 0F1 would save 2 units on stage 0, whose bound is 1
// RUN: %{two} --stage-actions %t/none.csv 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: cannot read '{{.*}}none.csv': No such file or directory
// RUN: %{two} --stage-actions %t/right.csv --stage-schedule gpipe 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: --stage-schedule is a rule for the order of actions, and --stage-actions gives the order; leave out one
