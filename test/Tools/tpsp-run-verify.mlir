// What --verify says when it cannot say yes.
// REQUIRES: tpsp-run
// RUN: not tpsp-run %s --verify | FileCheck %s --check-prefix=NAN
// RUN: not tpsp-run %s --verify --quiet 2>&1 | FileCheck %s --check-prefix=NAN
// RUN: sed 's/-> !x {/{/; s/return %y : !x/return/' %s > %t.none.mlir
// RUN: not tpsp-run %t.none.mlir --verify --quiet 2>&1 | FileCheck %s --check-prefix=NONE

// Rounding in f32 hides that the root is of a negative number.
// NAN: y inf FAILED
// NAN: VERIFICATION FAILED
// NONE: error: --verify: the program returns nothing to compare
!x = tensor<4x8xf32, #tpsp.idx<s, d>>
func.func @f(%x: !x) -> !x {
  %a = tpsp.scale %x {factor = 0.0 : f64} : !x
  %b = tpsp.shift %a {by = 1.0 : f64} : !x
  %c = tpsp.shift %b {by = -1.000000000001 : f64} : !x
  %y = tpsp.sqrt %c : !x
  return %y : !x
}
