// A step that is predicted not to fit has its own exit status. Requested files
// are written all the same.
// REQUIRES: tpsp-run
// RUN: echo '{"base": "h100-sxm", "name": "small", "memory_bytes": 1048576}' > %t.small.json
// DEFINE: %{run} = tpsp-run %examples/llama-tiny.mlir --grad --simulate

// RUN: %S/Inputs/exits 3 %{run} --hardware %t.small.json --report %t.json | FileCheck %s
// CHECK: does not fit: {{.*}} needed, 1.0 MiB there
// RUN: grep -q '"peak"' %t.json
// RUN: %S/Inputs/exits 3 %{run} --hardware %t.small.json --quiet 2>&1 | FileCheck %s --check-prefix=QUIET
// QUIET: tpsp-run: the step does not fit: {{.*}} needed, 1.0 MiB there
// RUN: %S/Inputs/exits 0 %{run} --hardware h100-sxm --quiet

// With stages, too.
// DEFINE: %{stages} = tpsp-plan %examples/llama-tiny.mlir --forget-placements --hardware h100-sxm --devices 2 --stages 2 --micro-batches 2 --overlap off
// RUN: %{stages} -o %t.stages.mlir
// RUN: %S/Inputs/exits 3 tpsp-run %t.stages.mlir --grad --micro-batches 2 --simulate --hardware %t.small.json | FileCheck %s --check-prefix=STAGES
// STAGES: too much for this machine
// RUN: %S/Inputs/exits 3 tpsp-run %t.stages.mlir --grad --micro-batches 2 --simulate --hardware %t.small.json --quiet 2>&1 | FileCheck %s --check-prefix=QUIET
// RUN: tpsp-run --help | FileCheck %s --check-prefix=HELP
// HELP: Exit status: 0 done, 1 the program or the run failed, 2 wrong usage,
// HELP-NEXT: 3 the step that --simulate predicts does not fit into the machine's memory
