// The output of --verify if a program does not pass.
// REQUIRES: tpsp-run
// RUN: not tpsp-run %s --verify | FileCheck %s --check-prefix=NAN
// RUN: not tpsp-run %s --verify --quiet 2>&1 | FileCheck %s --check-prefix=NAN
// RUN: sed 's/-> !x {/{/; s/return %y : !x/return/' %s > %t.none.mlir
// RUN: not tpsp-run %t.none.mlir --verify --quiet 2>&1 | FileCheck %s --check-prefix=NONE

// Rounding in f32 hides that the root is of a negative number.
// NAN: y inf 0.00e+00 FAILED
// NAN: VERIFICATION FAILED

// Numbers that are NaN or infinite in the reference, too, are reported but not
// wrong. The same holds for an overflow in the run's type.
// RUN: sed 's/-1.000000000001/-3.0/' %s > %t.both.mlir
// RUN: tpsp-run %t.both.mlir --verify --accept-not-finite | FileCheck %s --check-prefix=BOTH
// BOTH: y 0.00e+00 0.00e+00 (32 not finite, as in the rounded reference)
// BOTH: all within tolerance; 1 of 1 are not finite, as in the rounded reference
// RUN: sed 's/0.0 : f64/1.0e9 : f64/; s/sqrt/neg/' %s > %t.large.mlir
// RUN: not tpsp-run %t.large.mlir --verify --dtype f16 | FileCheck %s --check-prefix=LARGE
// LARGE: y {{.*}} not finite, as in the rounded reference)

// In f16 the way out depends on whether there is a loss scale.
// RUN: not tpsp-run %s --verify --dtype f16 | FileCheck %s --check-prefix=F16 --implicit-check-not=loss-scale
// F16: In f16 what is above 65504 overflows: verify in bf16 or f32.
// RUN: sed 's/%%x: !x/%%x: !x {tpsp.param = "w"}/' %s > %t.trained.mlir
// RUN: not tpsp-run %t.trained.mlir --verify --dtype f16 --grad --optimizer sgd --loss-scale 4 | FileCheck %s --check-prefix=SCALED
// SCALED: In f16 what is above 65504 overflows, and the step is skipped: take a smaller
// SCALED-NEXT: --loss-scale (dynamic:1024), or verify in f32.

// If rounding leaves no digits, the type has no effect.
// RUN: sed 's/0.0 : f64/1.0e-9 : f64/; s/by = 1.0 : f64/by = 0.0 : f64/; s/-1.000000000001/0.0/; s/sqrt/neg/' %s > %t.small.mlir
// RUN: tpsp-run %t.small.mlir --verify --dtype f16 | FileCheck %s --check-prefix=LOST
// RUN: tpsp-run %t.small.mlir --verify --dtype f64 | FileCheck %s --check-prefix=DECIDED
// LOST: y 1.00e+00 {{.*}} (lost in rounding)
// LOST: all within tolerance; 1 of 1 not checked: rounding alone leaves them no digits (--dtype f64 decides)
// DECIDED: y 0.00e+00 {{[0-9.]+}}e-17{{$}}
// DECIDED: all within tolerance{{$}}

// NONE: error: --verify: the program returns nothing to compare
!x = tensor<4x8xf32, #tpsp.idx<s, d>>
func.func @f(%x: !x) -> !x {
  %a = tpsp.scale %x {factor = 0.0 : f64} : !x
  %b = tpsp.shift %a {by = 1.0 : f64} : !x
  %c = tpsp.shift %b {by = -1.000000000001 : f64} : !x
  %y = tpsp.sqrt %c : !x
  return %y : !x
}
