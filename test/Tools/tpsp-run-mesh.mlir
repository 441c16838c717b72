// --mesh: a malformed value is wrong usage (2). An axis that the model lacks or
// cannot divide is the program's failure (1), with a location.
// REQUIRES: tpsp-run

// RUN: tpsp-run --mesh tp=2 %examples/mlp-sp.mlir --quiet

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --mesh tp 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --mesh tp= 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --mesh =4 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --mesh tp=0 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --mesh tp=-4 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --mesh tp=4x 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --mesh tp=4,dp 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --mesh tp=99999999999999999999 2>&1 | FileCheck %s --check-prefix=MALFORMED
// MALFORMED: {{^}}tpsp-run: --mesh: expected axis=size with a size of at least 1, such as tp=4, not '{{[^']*}}'

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --mesh tp=2,tp=4 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: {{^}}tpsp-run: --mesh gives axis 'tp' two sizes{{$}}

// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-sp.mlir --mesh tp=2,dp=2 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: mlp-sp.mlir:7:1: error: the mesh has no axis 'dp'; its axes are tp
// UNKNOWN-NOT: see current operation
// UNKNOWN: {{^}}tpsp-run: '{{.*}}mlp-sp.mlir' does not compile (configuring){{$}}

// RUN: %S/Inputs/exits 1 tpsp-run %s --mesh tp=2 2>&1 | FileCheck %s --check-prefix=NOMESH
// NOMESH: error: the module has no mesh to set; declare one: tpsp.mesh @mesh <tp = 4>

// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-sp.mlir --mesh tp=3 2>&1 | FileCheck %s --check-prefix=UNEVEN
// UNEVEN: mlp-sp.mlir:10:8: error: 'tpsp.einsum' op index 'e' of operand #0 has extent 1024, which its axes (tp: 3 ranks) do not divide; nearest extents that work: 1023 and 1026
// UNEVEN-NEXT: %y = einsum %w0, %x -> [b, s, e, ?]
// UNEVEN-NOT: see current operation

// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-sp.mlir --mesh tp=4611686018427387904 2>&1 | FileCheck %s --check-prefix=ENORMOUS
// ENORMOUS: error: {{.*}} do not divide

func.func @f(%x: tensor<4xf32, #tpsp.idx<d>>) -> tensor<4xf32, #tpsp.idx<d>> {
  %y = tpsp.exp %x : tensor<4xf32, #tpsp.idx<d>>
  return %y : tensor<4xf32, #tpsp.idx<d>>
}
