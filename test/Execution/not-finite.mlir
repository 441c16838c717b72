// What is not a number stays none: a function that lost it would hide it, and a norm that is none would clip nothing.
// REQUIRES: tpsp-run
// RUN: split-file %s %t

// RUN: tpsp-run %t/functions.mlir --verify | FileCheck %s --check-prefix=FUNCTIONS
// FUNCTIONS-COUNT-5: (7 not finite, as in the rounded reference)
// FUNCTIONS: all within tolerance; 5 of 5 are not finite, as in the rounded reference

// RUN: tpsp-run %t/norm.mlir --grad --optimizer sgd --clip 1e-3 --verify | FileCheck %s --check-prefix=NORM
// NORM: {{^}}norm nan
// NORM-COUNT-3: (15 not finite, as in the rounded reference)
// NORM: all within tolerance

//--- functions.mlir
tpsp.program <d = 7> {
mesh @mesh <tp = 1 : model>
func @f(%x: [d], %y: [d]) -> ([d], [d], [d], [d], [d]) {
  %s = square %x
  %n = neg %s
  %l = log %n
  %r = relu %l
  %p = softplus %l
  %a = max %l, %y
  %b = max %y, %l
  %c = clamp %l {low = 0.0, high = 1.0}
  return %r, %p, %a, %b, %c
}
}

//--- norm.mlir
tpsp.program <d = 5, e = 3> {
mesh @mesh <tp = 1 : model>
func @f(%x: [d], param %w: [e, d], param %v: [e, d]) -> [] {
  %y = einsum %w, %x -> [e, ?]
  %s = square %y
  %n = neg %s
  %l = sqrt %n
  %z = einsum %v, %x -> [e, ?]
  %a = add %l, %z
  %loss = reduce %a -> []
  return %loss
}
}
