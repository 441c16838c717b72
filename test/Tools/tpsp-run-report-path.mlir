// A report that cannot be written: a message, status 1, and no partial file.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t

// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-tp.mlir --quiet --report %t/none/r.json 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: not ls %t/none
// NOWHERE: {{^}}tpsp-run: cannot write '{{.*}}none/r.json': No such file or directory{{$}}

// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-tp.mlir --quiet --report %t 2>&1 | FileCheck %s --check-prefix=DIRECTORY
// DIRECTORY: {{^}}tpsp-run: cannot write '{{.*}}': Is a directory{{$}}

// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-tp.mlir --quiet --report /dev/full 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: {{^}}tpsp-run: cannot write '/dev/full': No space left on device{{$}}

// A run that fails writes no report.
// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-tp.mlir --quiet --mesh tp=3 --report %t/failed.json 2>&1 | FileCheck %s --check-prefix=FAILED
// RUN: not ls %t/failed.json
// FAILED: does not compile

// RUN: tpsp-run %examples/mlp-tp.mlir --quiet --report %t/done.json | count 0
// RUN: python3 -m json.tool %t/done.json > /dev/null
