// A program whose layers are divided over stages computes what it computes on
// one rank: schedules, chunks, other axes, updates, tied tables.
// REQUIRES: tpsp-run
// RUN: mkdir -p %t
// DEFINE: %{run} = tpsp-run %examples/pp.mlir --grad --verify --quiet --micro-batches

// RUN: %{run} 4
// RUN: %{run} 1 --mesh pp=4,tp=1
// RUN: %{run} 8 --mesh pp=4,tp=1 --stage-schedule gpipe
// RUN: %{run} 8 --mesh pp=3,tp=1 --stage-layers 1,2,1 --stage-schedule zero-bubble
// RUN: %{run} 4 --mesh pp=2,tp=1 --stage-chunks 2
// RUN: %{run} 8 --mesh pp=2,tp=1 --stage-chunks 2 --stage-schedule zero-bubble --stage-bound 4
// RUN: %{run} 4 --mesh pp=2,tp=1 --rematerialize full --dtype bf16

// Chunks that go to the last stage and back: even and odd stages, an uneven number of layers, W-shaped.
// DEFINE: %{folded} = --stage-placement folded
// RUN: %{run} 4 --mesh pp=2,tp=2 --stage-chunks 2 %{folded} --optimizer adamw --clip 1
// RUN: %{run} 8 --mesh pp=2,tp=1 --stage-chunks 2 %{folded} --stage-schedule zero-bubble --overlap on
// RUN: sed 's/repeat 4/repeat 7/' %examples/pp.mlir > %t/seven.mlir
// DEFINE: %{seven} = tpsp-run %t/seven.mlir --grad --verify --quiet --micro-batches
// RUN: %{seven} 8 --mesh pp=3,tp=1 --stage-chunks 2 %{folded} --stage-schedule zero-bubble --rematerialize full
// RUN: %{seven} 8 --mesh pp=2,tp=1 --stage-chunks 3 %{folded} --stage-schedule gpipe
// RUN: tpsp-run %examples/pp.mlir --grad --micro-batches 8 --mesh pp=2,tp=1 --stage-chunks 2 %{folded} --simulate --hardware h100-sxm | FileCheck %s --check-prefix=SENDS
// SENDS: Sends of a micro-batch
// SENDS-NEXT: chunk 0 to 1: 4.0 KiB
// SENDS-NEXT: chunk 2 to 3: 4.0 KiB
// SENDS-NEXT: chunk 1 to 0: 4.0 KiB
// SENDS-NEXT: chunk 3 to 2: 4.0 KiB
// RUN: tpsp-run %examples/pp.mlir --verify --quiet --micro-batches 2 --mesh tp=1

// Norms of all gradients, states and loss scales need no more than gradients do.
// RUN: %{run} 4 --optimizer adamw --clip 1
// RUN: %{run} 2 --mesh tp=1 --optimizer adamw --clip 0.01 --dtype f16 --loss-scale dynamic --steps 3
// RUN: %{run} 2 --mesh tp=1 --optimizer muon

// Data parallelism beside it: whole, ZeRO-1, and gradients that are reduced by part.
// RUN: sed -e 's/pp = 2 : stage, tp = 2 : model/pp = 2 : stage, dp = 2 : data, tp = 1 : model/' -e 's/\[b, s/[b@dp, s/g' -e '/?/s/b@dp/b/' %examples/pp.mlir > %t/dp.mlir
// DEFINE: %{dp} = tpsp-run %t/dp.mlir --grad --verify --quiet --micro-batches 2
// RUN: %{dp}
// RUN: %{dp} --optimizer adamw --optimizer-axes dp --clip 1
// RUN: %{dp} --reduce-gradients part

// A table that is the head, too: each stage has its gradient of every micro-batch.
// DEFINE: %{table} = %%table
// RUN: sed -e 's/, param .head: .v@tp, d.//' -e 's/einsum .head/einsum %{table}/' %examples/pp.mlir > %t/tied.mlir
// RUN: tpsp-run %t/tied.mlir --grad --micro-batches 4 --verify --optimizer adamw --clip 1 --report %t/tied.json | FileCheck %s --check-prefix=TIED
// TIED: update transfer pp 8 B x2 0
// TIED: update transfer pp 8 B x2 1
// TIED: backward transfer pp 12.0 KiB x1 0
// TIED: backward transfer pp 12.0 KiB x1 1
// TIED: stage 0 stage 1
// TIED-NEXT: parameters
// TIED: all within tolerance

// What is sent, each time, and by whom.
// RUN: tpsp-run %examples/pp.mlir --grad --micro-batches 4 | FileCheck %s --check-prefix=LEDGER
// LEDGER: forward transfer pp 4.0 KiB x4 0 layer1.z stage 0 has it, and stage 1 needs it
// LEDGER: backward transfer pp 4.0 KiB x4 1 g[layer1.z] stage 1 has it, and stage 0 needs it
// LEDGER: Totals (of the stage that sends most)

// Communication within a segment runs under its computation, on streams after
// those of transfers.
// RUN: tpsp-run %examples/pp.mlir --grad --verify --quiet --micro-batches 4 --overlap on --overlap-chunks 2
// RUN: tpsp-run %examples/pp.mlir --grad --verify --quiet --micro-batches 8 --mesh pp=4,tp=2 --overlap on --overlap-chunks 2 --optimizer adamw --clip 1 --stage-schedule zero-bubble
// RUN: tpsp-opt %examples/pp.mlir --tpsp-pipeline="grad=true micro-batches=4 overlap=on overlap-chunks=2" | FileCheck %s --check-prefix=STREAMS
// STREAMS: plan.program @model_grad
// STREAMS-SAME: streams = 4
// STREAMS: plan.event_record [[BEGIN:[0-9]+]] {plan.segment = [[NUMBER:[0-9]+]]
// STREAMS-NEXT: plan.event_wait [[BEGIN]] {plan.segment = [[NUMBER]] {{.*}}stream = 3

// A compiled plan runs on stages, too.
// RUN: tpsp-run %examples/pp.mlir --grad --micro-batches 4 --emit %t/pp.so --quiet
// RUN: tpsp-run %t/pp.so --verify --quiet --steps 2

// Refusals.
// RUN: not tpsp-run %examples/pp.mlir --stage-placement folded 2>&1 | FileCheck %s --check-prefix=FOLD
// FOLD: --stage-placement folded has no fold if a stage has one chunk; give --stage-chunks 2 or more
// RUN: not tpsp-run %examples/tp.mlir --stage-placement folded --stage-chunks 2 2>&1 | FileCheck %s --check-prefix=NO-STAGES
// NO-STAGES: is of stages, and no axis of the mesh divides layers
// RUN: not env TPSP_CODE_EFFORT=litle tpsp-run %examples/tp.mlir 2>&1 | FileCheck %s --check-prefix=EFFORT
// EFFORT: TPSP_CODE_EFFORT is 'litle': full or little
// RUN: not tpsp-run %examples/pp.mlir --grad --micro-batches 4 --overlap on --require-overlap 0.5 2>&1 | FileCheck %s --check-prefix=REQUIRE
// REQUIRE: error: has stages, and the share of communication that is hidden is not known for them; leave out --require-overlap and tpsp.overlap
// RUN: not tpsp-run %examples/pp.mlir --grad --mesh pp=5 2>&1 | FileCheck %s --check-prefix=LAYERS
// LAYERS: error: has 4 layers (calls of functions), fewer than the 5 chunks of 5 stages; give fewer stages or chunks
// RUN: not tpsp-run %examples/pp.mlir --grad --micro-batches 8 --stage-bound 1 --stage-chunks 2 2>&1 | FileCheck %s --check-prefix=BOUND
// BOUND: a stage may save 1 units, and one micro-batch has 2; allow as many
