// A sum of more tensors than a kernel takes at once becomes a tree. Tensors of
// fewer indices are broadcast.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --verify --grad --quiet
// RUN: tpsp-run %s --verify --grad --quiet --mesh tp=3 --dtype bf16
// RUN: tpsp-run %s --verify --quiet --mesh tp=1 --dtype f64
// RUN: tpsp-opt %s --tpsp-pipeline | FileCheck %s --check-prefix=SUMS

// 131 operands: sums of 64, 64 and 3, and one of these.
// SUMS-LABEL: func.func private @kernel0_add_add_add
// SUMS-COUNT-130: arith.addf
// SUMS-NOT: arith.addf
// SUMS: plan.program
tpsp.program <s = 7, h = 3, k = 5> {
mesh @mesh <tp = 1 : model>
func @main(%a: [s, h@tp, k], %b: [k], %c: [s, h@tp], %d: []) -> [s, h@tp, k] {
  %y = add
      %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c,
      %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b,
      %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a,
      %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d,
      %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c
  return %y
}
}
