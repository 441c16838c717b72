// A result is verified by its own rounding, never by another's size, as --verify=selftest shows.
// REQUIRES: tpsp-run
// RUN: split-file %s %t

// Next to a result that is 1e10 times as large.
// RUN: tpsp-run %t/large.mlir --grad --verify=selftest | FileCheck %s --check-prefix=LARGE --implicit-check-not="is zero"
// LARGE: y {{[0-9]}}
// LARGE: big {{[0-9]}}
// LARGE: all within tolerance
// LARGE-NEXT: Planted mistakes: 10 of 10 seen

// RUN: tpsp-run %t/large.mlir --grad --verify=selftest --dtype bf16 | FileCheck %s --check-prefix=HALF
// HALF: all within tolerance
// HALF: Planted mistakes: {{[89]|10}} of 10 seen

// Next to masked values, in the same tensor and in another.
// RUN: tpsp-run %t/masked.mlir --verify=selftest | FileCheck %s --check-prefix=MASKED
// MASKED: scores {{[0-9]}}
// MASKED: Planted mistakes: 2 of 2 seen

// Numbers of the program that a type cannot hold, in a chain: errors to one side.
// RUN: %python %t/chain.py > %t/chain.mlir
// RUN: tpsp-run %t/chain.mlir --verify | FileCheck %s --check-prefix=RIGHT
// A mean that is stored in 16 bits, of values that the kernel has not rounded yet.
// RUN: tpsp-run %t/one.mlir --grad --verify --seed 0 | FileCheck %s --check-prefix=RIGHT
// RUN: tpsp-run %t/one.mlir --grad --verify --seed 1 --dtype bf16 | FileCheck %s --check-prefix=RIGHT
// RIGHT: all within tolerance

// Values whose squares f64 cannot hold.
// RUN: tpsp-run %t/huge.mlir --verify=selftest | FileCheck %s --check-prefix=HUGE
// HUGE: all within tolerance
// HUGE-NEXT: Planted mistakes: 4 of 4 seen

// Zero but for rounding: a key's bias, which softmax cancels.
// RUN: tpsp-run %t/zero.mlir --grad --verify | FileCheck %s --check-prefix=ZERO
// ZERO: g[bk] {{.*}} (is zero but for rounding; absolute)
// ZERO: all within tolerance

// A step's moments are as large as the gradients make them, so a mistake in their summands shows.
// RUN: tpsp-run %t/step.mlir --grad --optimizer adamw --clip 1 --loss-scale 1024 --verify=selftest | FileCheck %s --check-prefix=STEP --implicit-check-not="square[w] {{.*}}not seen"
// STEP: square[w] {{[0-9]}}
// STEP: all within tolerance
// STEP-NEXT: Planted mistakes

// A tolerance is a tensor's own: tensors reduced in 16 bits may have that rounding, the loss not.
// RUN: tpsp-run %t/step.mlir --grad --reduce-dtype bf16 --optimizer adamw --verify | FileCheck %s --check-prefix=REDUCED
// REDUCED: all within tolerance
// RUN: tpsp-run %t/step.mlir --grad --reduce-dtype f16 --optimizer lion --verify | FileCheck %s --check-prefix=REDUCED

// f16 overflows on one rank: all ranks skip both steps. The f64 program would not, so that the rounded one decides.
// RUN: not tpsp-run %t/step.mlir --dtype f16 --grad --optimizer adamw --loss-scale dynamic --steps 2 --inputs x=%S/Inputs/x-overflow.npy --verify | FileCheck %s --check-prefix=SKIPPED
// SKIPPED: updates 0.00e+00 0.00e+00 {{.*}}(of the program rounded to its types)
// SKIPPED: loss_scale 0.00e+00 0.00e+00 (of the program rounded to its types)
// SKIPPED: NOT VERIFIED
// SKIPPED: rank 2: {{.*}} is the first command that writes an infinity

// Summands of ranks overflow, halves of the sum do not: the program is not wrong, and not verified.
// RUN: not tpsp-run %t/summands.mlir --inputs x=%S/Inputs/x-alternating.npy --verify | FileCheck %s --check-prefix=SUMMANDS
// SUMMANDS: NOT VERIFIED: 1 of 1 results are not finite

//--- summands.mlir
tpsp.program f16 <e = 8> {
mesh @mesh <tp = 4 : model>
func @f(%x: [e@tp]) -> [] {
  %y = scale %x {factor = 40000.0}
  %s = reduce %y -> []
  return %s
}
}

//--- chain.py
lines = [f"  %x{i + 1} = scale %x{i} {{factor = 1.001}}" for i in range(300)]
print("tpsp.program <d = 8> {", "func @f(%x0: [d]) -> [d] {", *lines, "  return %x300", "}", "}", sep="\n")

//--- one.mlir
tpsp.program f16 <d = 4, f = 1> {
mesh @mesh <tp = 2 : model>
func @f(%x0: [d, f], param %gain: [f]) -> [d@tp, f] {
  %x = add %x0, %x0, %x0 -> [d, f, ?]
  %twice = add %x, %x -> [d, f, ?]
  %normed = layer_norm %twice, %gain, %gain {eps = 0.0625} -> [d@tp, f]
  return %normed
}
}

//--- large.mlir
tpsp.program <s = 16, d = 16, e = 32> {
mesh @mesh <tp = 4 : model>
func @f(%x: [s, d], %c: [s, d], param %w: [e@tp, d]) -> ([s, e@tp] {tpsp.name = "y"}, [s, d] {tpsp.name = "big"}) {
  %y0 = einsum %w, %x -> [s, e, ?]
  %y = gelu %y0
  %big = scale %c {factor = 1e10}
  return %y, %big
}
}

//--- masked.mlir
tpsp.program <s = 8, t = s, d = 4> {
func @f(%x: [s, t], %y: [s, d]) -> ([s, t] {tpsp.name = "scores"}, [s, d] {tpsp.name = "small"}) {
  %q = causal_mask %x {query = "s", key = "t", fill = -1e30}
  %z = tanh %y
  return %q, %z
}
}

//--- huge.mlir
tpsp.program f64 <s = 8, d = 64, e = 4> {
mesh @mesh <tp = 2>
func @f(%x: [s@tp, d], %w: [e, d]) -> ([s@tp, e] {tpsp.name = "large"}, [s@tp, e] {tpsp.name = "tiny"}) {
  %y = einsum %x, %w -> [s@tp, e]
  %large = scale %y {factor = 1e200}
  %tiny = scale %y {factor = 1e-200}
  return %large, %tiny
}
}

//--- zero.mlir
tpsp.program <b = 2, s = 8, t = s, h = 2, k = 4> {
func @f(%q: [b, s, h, k], %k0: [b, t, h, k], %v: [b, t, h, k], param %bk: [h, k]) -> [b, s, h, k] {
  %k = add %k0, %bk
  %o = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.5}
  return %o
}
}

//--- step.mlir
tpsp.program <b = 4, d = 16, e = 32> {
mesh @mesh <dp = 4 : data>
func @mlp(%x: [b@dp, d], param %w: [e, d], param %down: [d, e]) -> [] {
  %u = einsum %w, %x -> [b, e, ?]
  %a = gelu %u
  %y = einsum %down, %a -> [b, d, ?]
  %z = square %y
  %loss = mean %z -> []
  return %loss
}
}
