// The picture of a step is well-formed and refers to nothing outside, for any
// name of a model. It contains the printed summary.
// REQUIRES: tpsp-run
// RUN: mkdir -p %t.dir
// RUN: cp %examples/mlp-sp.mlir "%t.dir/<a & b>.mlir"
// RUN: tpsp-run "%t.dir/<a & b>.mlir" --grad --steps 3 --timeline %t.svg --trace %t.json --report %t.report.json | FileCheck %s
// RUN: python3 %S/Inputs/check-timeline.py %t.svg %t.json %t.report.json
// CHECK: {{^}}step {{[0-9.]+}} {{ms|s|µs}}, exposed communication {{.*}}, hidden 0 %, peak memory {{[0-9.]+}} MiB{{$}}

// A prediction is drawn in the same way.
// RUN: tpsp-run %examples/mlp-sp.mlir --grad --simulate --hardware h100-sxm --timeline %t.svg --trace %t.json --quiet
// RUN: python3 -c "import xml.dom.minidom as x; x.parse('%t.svg'); x.parse('%examples/../docs/pictures/step.svg')"
// RUN: FileCheck %s --check-prefix=SIMULATED --input-file %t.svg
// SIMULATED: <title>mlp_grad of mlp-sp.mlir: step
// SIMULATED: tp=4, simulated on h100-sxm</text>

// RUN: tpsp-run %examples/mlp-sp.mlir --mesh tp=1 | FileCheck %s --check-prefix=ALONE
// ALONE: {{^}}step {{.*}}, no communication, peak memory

// RUN: not tpsp-run %examples/mlp-sp.mlir --timeline %t.none/x.svg 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
// UNWRITABLE: cannot write '{{.*}}x.svg'
