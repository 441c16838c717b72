// Ranks that did the same are one lane, in the picture and on the page. Its
// name says which ranks. Ranks that differ keep their lanes.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t

// A prediction, on meshes of one rank, of a few, and of more than a trace has.
// DEFINE: %{simulate} = tpsp-run %examples/tp-dp.mlir --grad --simulate --hardware h100-sxm-cluster --quiet --timeline %t/s.svg --html %t/s.html --trace %t/s.json
// RUN: %{simulate} --mesh dp=1,tp=1
// RUN: python3 %S/Inputs/check-lanes.py %t/s.svg %t/s.html "rank 0: dp=0 tp=0"
// RUN: %{simulate} --mesh dp=2,tp=4
// RUN: python3 %S/Inputs/check-lanes.py %t/s.svg %t/s.html "ranks 0 to 7"
// RUN: %{simulate} --mesh dp=8,tp=4
// RUN: python3 %S/Inputs/check-lanes.py %t/s.svg %t/s.html "ranks 0 to 31"
// RUN: FileCheck %s --check-prefix=FIRST --input-file %t/s.json
// FIRST: "setting": "dp=8, tp=4, simulated on h100-sxm-cluster, the first 16 ranks of 32"

// With stages, a lane is of all ranks of a stage.
// RUN: sed 's/<dp = 2 : data, tp = 1 : model>/<dp = 2 : data, pp = 2 : stage, tp = 2 : model>/' %examples/llama-tiny.mlir > %t/stages.mlir
// RUN: tpsp-run %t/stages.mlir --grad --simulate --hardware h100-sxm --micro-batches 4 --quiet --timeline %t/s.svg --html %t/s.html
// RUN: python3 %S/Inputs/check-lanes.py %t/s.svg %t/s.html "stage 0: ranks 0, 1, 4, 5" "stage 1: ranks 2, 3, 6, 7"

// No two ranks of a run take the same time.
// RUN: tpsp-run %examples/tp-dp.mlir --mesh dp=1,tp=2 --grad --quiet --timeline %t/r.svg --html %t/r.html
// RUN: python3 %S/Inputs/check-lanes.py %t/r.svg %t/r.html "rank 0: dp=0 tp=0" "rank 1: dp=0 tp=1"
