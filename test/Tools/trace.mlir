// The timeline of the last step: valid JSON, every command of every rank once.
// REQUIRES: tpsp-run

// RUN: tpsp-run %examples/mlp-sp.mlir --quiet --grad --verify --steps 3 --trace %t.json --report %t.report | count 0
// RUN: python3 -m json.tool %t.json > /dev/null
// RUN: python3 %S/Inputs/check_trace.py %t.json %t.report
// RUN: tpsp-run %examples/mlp-sp.mlir --quiet --mesh tp=1 --trace %t.json --report %t.report
// RUN: python3 %S/Inputs/check_trace.py %t.json %t.report

// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-sp.mlir --quiet --trace %t.none/t.json 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: {{^}}tpsp-run: cannot write '{{.*}}t.json': No such file or directory{{$}}
