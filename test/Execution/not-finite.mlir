// A NaN stays a NaN: a function that lost it would hide it, and a norm of NaN would clip nothing.
// REQUIRES: tpsp-run
// RUN: split-file %s %t

// RUN: tpsp-run %t/functions.mlir --verify --accept-not-finite | FileCheck %s --check-prefix=FUNCTIONS
// FUNCTIONS-COUNT-5: (7 not finite, as in the rounded reference)
// FUNCTIONS: all within tolerance; 5 of 5 are not finite, as in the rounded reference

// RUN: tpsp-run %t/norm.mlir --grad --optimizer sgd --clip 1e-3 --verify --accept-not-finite | FileCheck %s --check-prefix=NORM
// NORM: {{^}}norm nan
// NORM-COUNT-3: (15 not finite, as in the rounded reference)
// NORM: all within tolerance

// By default it does not pass and has its own status. The message says where the numbers come from, in the
// unsharded program and on which rank.
// RUN: bash -c 'tpsp-run %t/functions.mlir --verify > %t.out; test $? = 4'
// RUN: FileCheck %s --check-prefix=WHERE < %t.out
// WHERE: NOT VERIFIED: 5 of 5 results are not finite, as in the rounded reference, which says
// WHERE-NEXT: nothing of the run (--accept-not-finite takes it for verified)
// WHERE-NEXT: unsharded in f64: the result of log ({{.*}}) at {{.*}}functions.mlir:6:8 is the first NaN
// WHERE-NEXT: rank 0: {{.*}}functions.mlir:{{.*}} is the first command that writes a NaN

// RUN: not tpsp-run %t/argument.mlir --verify --inputs x=%S/Inputs/x-inf.npy | FileCheck %s --check-prefix=ARGUMENT
// ARGUMENT: NOT VERIFIED
// ARGUMENT: argument x: 8 of 8 elements are not finite

// A number that only one rank makes is found there.
// RUN: not tpsp-run %t/one.mlir --verify --inputs x=%S/Inputs/x-one-negative.npy | FileCheck %s --check-prefix=RANK
// RANK: rank 1: {{.*}}one.mlir:4:8{{.*}} is the first command that writes a NaN

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

//--- argument.mlir
tpsp.program <d = 8> {
func @f(%x: [d]) -> [d] {
  %y = scale %x {factor = 0.5}
  return %y
}
}

//--- one.mlir
tpsp.program <d = 4> {
mesh @mesh <tp = 2 : model>
func @f(%x: [d@tp]) -> [d@tp] {
  %y = sqrt %x
  return %y
}
}
