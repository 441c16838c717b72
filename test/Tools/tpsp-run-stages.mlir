// A program whose layers are divided over stages: what --simulate says
// (test/Execution/stages.mlir runs them).
// REQUIRES: tpsp-run
// RUN: mkdir -p %t
// RUN: sed 's/<dp = 2 : data, tp = 1 : model>/<pp = 3 : stage, dp = 2 : data, tp = 2 : model>/' %examples/llama-tiny.mlir > %t/m.mlir
// DEFINE: %{table} = %%table
// DEFINE: %{on} = --grad --simulate --hardware h100-sxm-cluster --micro-batches 8

// A row for each stage; rank 4 is the first of the second stage.
// RUN: tpsp-run %t/m.mlir %{on} --optimizer adamw --clip 1 --report %t/r.json --trace %t/t.json --timeline %t/t.svg | FileCheck %s
// CHECK: model on h100-sxm-cluster: 3 stages over @pp, 1 chunk each, 8 micro-batches, 1f1b
// CHECK: Time per stage
// CHECK-NEXT: stage rank layers computing sends update bubble
// CHECK-NEXT: {{^}} 0 0 2 {{.*}} %
// CHECK-NEXT: {{^}} 1 4 2 {{.*}} %
// CHECK-NEXT: {{^}} 2 8 2 {{.*}} %
// CHECK: Memory per rank
// CHECK-NEXT: stage parameters gradients optimizer inputs units saved peak
// CHECK-NEXT: {{^}} 0 3.1 MiB 3.1 MiB 6.3 MiB {{[0-9.]+}} KiB 3 {{.*}}
// CHECK-NEXT: {{^}} 1 3.0 MiB 3.0 MiB 6.0 MiB {{[0-9]+}} B 2 {{.*}}
// CHECK-NEXT: {{^}} 2 3.1 MiB 3.1 MiB 6.3 MiB {{[0-9.]+}} KiB 1 {{.*}}
// b 16 / 8 / 2, s 256 / 2, d 256 of f32
// CHECK: chunk 0 to 2, each to the next: 128.0 KiB in
// CHECK-NEXT: chunk 2 to 0, each to the one before: 128.0 KiB in
// CHECK: compile {{.*}} (3 of 3 chunks)
// CHECK-NEXT: step {{.*}} (simulated; bubble {{[0-9.]+}} %, {{[0-9.]+}} % of the matmul peak)
// CHECK-NEXT: memory {{.*}} of 74.5 GiB
// RUN: python3 %S/Inputs/check-stages.py %t/r.json %t/t.json
// RUN: FileCheck %s --check-prefix=SVG --input-file %t/t.svg
// SVG: >stage 0<
// SVG: >stage 2<

// Cyclic, with weights' gradients in the bubble, and as often as they come.
// RUN: tpsp-run %t/m.mlir %{on} --mesh pp=2 --stage-chunks 3 --stage-schedule zero-bubble | FileCheck %s --check-prefix=CYCLIC
// CYCLIC: 2 stages over @pp, 3 chunks each, 8 micro-batches, zero-bubble
// CYCLIC: {{^}} 0 0 1+1+1
// CYCLIC: chunk 0 to 5, each to the next: 128.0 KiB in
// CYCLIC: (3 of 6 chunks)
// RUN: tpsp-run %t/m.mlir %{on} --stage-layers 1,2,3 | FileCheck %s --check-prefix=GIVEN
// GIVEN: {{^}} 0 0 1
// GIVEN-NEXT: {{^}} 1 4 2
// GIVEN-NEXT: {{^}} 2 8 3

// A step that is slower with overlap has none, and says so.
// RUN: sed 's/mesh @mesh </mesh @mesh <pp = 2 : stage, /' %examples/zero2.mlir > %t/zero2.mlir
// DEFINE: %{zero2} = tpsp-run %t/zero2.mlir --grad --optimizer muon --simulate --hardware h100-sxm-cluster --micro-batches 4 --mesh dp=2 --stage-schedule zero-bubble --bucket-mib 0
// RUN: %{zero2} --overlap backward --report %t/none.json | FileCheck %s --check-prefix=SLOWER
// SLOWER: step {{.*}} (simulated
// SLOWER-NEXT: {{^}} overlap none (the step is slower with --overlap backward)
// RUN: FileCheck %s --check-prefix=SERIAL --input-file %t/none.json
// SERIAL: "overlap": "off"
// RUN: %{zero2} --overlap on --report %t/on.json | FileCheck %s --check-prefix=FASTER
// FASTER-NOT: slower with
// RUN: FileCheck %s --check-prefix=BESIDE --input-file %t/on.json
// BESIDE: "overlap": "on"

// With little memory to spare a step overlaps within it.
// RUN: echo '{"base": "h100-sxm", "name": "small", "memory_bytes": 430000}' > %t/small.json
// DEFINE: %{small} = tpsp-run %examples/pp.mlir --grad --dtype bf16 --micro-batches 8 --simulate --hardware %t/small.json
// RUN: %{small} --overlap off | FileCheck %s --check-prefix=TIGHT
// TIGHT: step 5.79 ms
// TIGHT-NEXT: memory 418.{{[0-9]+}} KiB of 419.9 KiB
// RUN: %{small} --overlap on | FileCheck %s --check-prefix=WITHIN
// WITHIN: step 5.2{{[0-9]}} ms
// WITHIN-NEXT: memory 419.{{[0-9]+}} KiB of 419.9 KiB

// Forward alone.
// RUN: tpsp-run %t/m.mlir --simulate --hardware h100-sxm-cluster --micro-batches 2 | FileCheck %s --check-prefix=FORWARD
// FORWARD: chunk 0 to 2, each to the next
// FORWARD-NOT: each to the one before

// One stage is the program without the axis: the same prediction, and a run.
// DEFINE: %{one} = --grad --simulate --hardware h100-sxm-cluster --micro-batches 2
// RUN: tpsp-run %t/m.mlir %{one} --mesh pp=1 | grep -v compile > %t/one.txt
// RUN: tpsp-run %examples/llama-tiny.mlir --mesh tp=2 %{one} | grep -v compile > %t/none.txt
// RUN: diff %t/one.txt %t/none.txt
// RUN: tpsp-run %t/m.mlir --mesh pp=1,dp=1,tp=2 --extent b=2,s=16 --quiet

// A table that is the head, too, is reduced over first and last stage.
// RUN: sed -e 's/, param .head: .*) -> /) -> /' -e 's/einsum .head/einsum %{table}/' %t/m.mlir > %t/tied.mlir
// RUN: tpsp-run %t/tied.mlir %{on} | FileCheck %s --check-prefix=TIED
// TIED: once a step: the gradient of table, 128.0 KiB, added over stages 0 and 2: 128.0 KiB sent in

// RUN: not tpsp-run %t/m.mlir %{on} --mesh pp=7 2>&1 | FileCheck %s --check-prefix=LAYERS
// LAYERS: m.mlir:{{[0-9]+}}:1: error: has 6 layers (calls of functions), fewer than the 7 chunks of 7 stages; give fewer stages or chunks
// RUN: not tpsp-run %t/m.mlir %{on} --stage-layers 1,2,x 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: --stage-layers: 'x' is no number of layers; give one from 1 for each chunk, as 9,8,8
// RUN: not tpsp-run %t/m.mlir %{on} --stage-bound 1 --stage-chunks 2 2>&1 | FileCheck %s --check-prefix=BOUND
// BOUND: a stage may save 1 units, and one micro-batch has 2; allow as many
// RUN: not tpsp-run %t/m.mlir %{on} --stage-schedule gpipe --stage-bound 1 2>&1 | FileCheck %s --check-prefix=ALL
// ALL: a stage may save 1 units, and saves {{[0-9]+}} before its first backward command; allow as many, or take another schedule
// Micro-batches cut what can be cut, as without stages.
// RUN: not tpsp-run %t/m.mlir %{on} --micro-batch-index d 2>&1 | FileCheck %s --check-prefix=WIDTH
// WIDTH: m.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 
// WIDTH: does not compile (cutting the batch)
// RUN: not tpsp-run %t/m.mlir %{on} --micro-batch-index s 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: m.mlir:{{[0-9]+}}:{{[0-9]+}}: error: {{.*}}relates positions of the batch to each other ('s' and 't')
// RUN: not tpsp-run %t/m.mlir %{on} --micro-batch-index zz 2>&1 | FileCheck %s --check-prefix=NOINDEX
// NOINDEX: no argument has an index 'zz' to cut into micro-batches
// RUN: not tpsp-run %t/m.mlir %{on} --reduce-gradients part 2>&1 | FileCheck %s --check-prefix=PART
// PART: --reduce-gradients part is not simulated with stages; leave it out, and gradients are reduced once a step
// RUN: not tpsp-run %t/m.mlir %{on} --optimizer adamw --optimizer-axes dp --gather-parameters forward 2>&1 | FileCheck %s --check-prefix=GATHER
// GATHER: --gather-parameters forward is not simulated with stages; leave it out, and parameters are gathered in the update
// RUN: not tpsp-run %t/m.mlir %{on} --optimizer sgd --loss-scale 2 2>&1 | FileCheck %s --check-prefix=SCALE
// SCALE: --loss-scale is not simulated with stages; leave it out, or use --dtype bf16, which needs none
// RUN: not tpsp-run %examples/llama-tiny.mlir %{on} --stage-chunks 2 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: --stage-chunks is of stages, and no axis of the mesh divides layers; write one, as in <pp = 4 : stage>
// RUN: not tpsp-run %examples/llama-tiny.mlir --stage-chunks 2 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tpsp-run %t/m.mlir --grad --simulate --hardware h100-sxm --micro-batches 8 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: 12

// The 32 layers of a Llama-3.1-8B on 32 devices, in seconds.
// RUN: tpsp-import %S/../Import/Inputs/published/llama-3.1-8b.json --sequence 8192 --batch 16 --dtype bf16 --place pp-tp-sp --mesh pp=4,tp=8 -o %t/l8b.mlir
// RUN: bash -c "ulimit -t 8; exec tpsp-run %t/l8b.mlir --grad --optimizer adamw --simulate --hardware h100-sxm-cluster --micro-batches 16" | FileCheck %s --check-prefix=LLAMA
// LLAMA: model on h100-sxm-cluster: 4 stages over @pp
// LLAMA: {{^}} 3 24 8
// LLAMA: chunk 0 to 3, each to the next: 8.0 MiB in
// LLAMA: (3 of 4 chunks)
