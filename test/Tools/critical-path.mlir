// The critical path in the report, the timeline and the page: a chain of
// commands, each of which begins when the one before it has ended.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t

// Predictions without and with overlap, on several meshes.
// DEFINE: %{simulate} = tpsp-run %examples/tp-dp.mlir --grad --simulate --hardware h100-sxm --report %t/r.json --timeline %t/r.svg --html %t/r.html
// RUN: %{simulate} --mesh dp=1,tp=1 | FileCheck %s
// RUN: python3 %S/Inputs/check-critical.py %t/r.json %t/r.svg %t/r.html --all
// RUN: %{simulate} --mesh dp=2,tp=4 --overlap off | FileCheck %s
// RUN: python3 %S/Inputs/check-critical.py %t/r.json %t/r.svg %t/r.html --all
// RUN: %{simulate} --mesh dp=4,tp=2 --overlap on --optimizer adamw | FileCheck %s
// RUN: python3 %S/Inputs/check-critical.py %t/r.json %t/r.svg %t/r.html
// CHECK: {{^}}critical path {{.*}} of {{.*}}: {{.*}}kernel

// A run.
// RUN: tpsp-run %examples/tp-dp.mlir --mesh dp=1,tp=2 --grad --report %t/r.json --timeline %t/r.svg --html %t/r.html | FileCheck %s
// RUN: python3 %S/Inputs/check-critical.py %t/r.json %t/r.svg %t/r.html

// Stages: from the first forward command to the last update.
// RUN: sed 's/<dp = 2 : data, tp = 1 : model>/<dp = 2 : data, pp = 2 : stage, tp = 1 : model>/' %examples/llama-tiny.mlir > %t/stages.mlir
// DEFINE: %{staged} = tpsp-run %t/stages.mlir --grad --simulate --hardware h100-sxm --report %t/r.json --timeline %t/r.svg --html %t/r.html
// RUN: %{staged} --micro-batches 4 | FileCheck %s --check-prefix=STAGES
// RUN: python3 %S/Inputs/check-critical.py %t/r.json %t/r.svg %t/r.html --all
// RUN: %{staged} --micro-batches 2 --stage-chunks 2 --optimizer adamw --clip 1 | FileCheck %s --check-prefix=UPDATE
// RUN: python3 %S/Inputs/check-critical.py %t/r.json %t/r.svg %t/r.html
// STAGES: {{^}}critical path {{.*}} of {{.*}}: backward {{.*}}, forward {{.*}}, send
// UPDATE: {{^}}critical path {{.*}} of {{.*}}: backward {{.*}}, forward {{.*}}, update
