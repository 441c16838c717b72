// A file whose mesh does not divide its extents runs with a fitting mesh or extents; remaining errors are reported.
// REQUIRES: tpsp-run

// RUN: %S/Inputs/exits 1 tpsp-run %s --grad 2>&1 | FileCheck %s --check-prefix=ASIS
// ASIS: 'v' {{.*}}extent 256, which its axes (tp: 3 ranks) do not divide
// ASIS: is not a valid model
// RUN: tpsp-run %s --grad --verify --quiet --mesh tp=2
// RUN: tpsp-run %s --grad --verify --quiet --mesh tp=1
// RUN: tpsp-run %s --grad --verify --quiet --extent v=255
// RUN: tpsp-run %s --grad --verify --quiet --extent v=35 --mesh tp=5
// RUN: tpsp-run %s --grad --verify --quiet --pad v=3
// RUN: %S/Inputs/exits 1 tpsp-run %s --grad --mesh tp=5 2>&1 | FileCheck %s --check-prefix=FIVE
// RUN: %S/Inputs/exits 1 tpsp-run %s --grad --simulate --mesh tp=5 2>&1 | FileCheck %s --check-prefix=FIVE
// FIVE: 'v' {{.*}}extent 256, which its axes (tp: 5 ranks) do not divide
// RUN: %S/Inputs/exits 1 tpsp-run %s --grad --extent d=4 2>&1 | FileCheck %s --check-prefix=ASIS2
// ASIS2: 'v' {{.*}}extent 256, which its axes (tp: 3 ranks) do not divide
// RUN: tpsp-plan %s --forget-placements --devices 2 --overlap off | FileCheck %s --check-prefix=PLAN
// PLAN: gap 0

tpsp.program <b = 4, d = 6, v = 256> {
mesh @mesh <tp = 3 : model>
func @f(%x: [b, d], param %w: [v@tp, d], param %u: [d, v@tp]) -> [b, d] {
  %y = einsum %w, %x -> [b, v, ?]
  %z = einsum %u, %y -> [b, d, ?]
  return %z
}
}
