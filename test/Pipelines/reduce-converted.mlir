// A parameter's gradient is summed over ranks in the parameter's type, or in
// --reduce-dtype, also if the parameter is converted, scaled or renamed before
// its einsum, and if it is used twice. Four ranks have 256, 1, 1 and 1: f32 has
// 259, and bf16 only 260.
// REQUIRES: tpsp-run
// RUN: python3 %S/../Execution/Inputs/values.py write %t.npy 256 1 1 1
// DEFINE: %{run} = tpsp-run %s --grad --inputs x=%t.npy --save-all %t.safetensors
// DEFINE: %{check} = python3 %S/../Execution/Inputs/values.py check %t.safetensors

// RUN: %{run} --function plain | FileCheck %s --check-prefix=WIDE-REDUCE
// RUN: %{check} "g[w]=259"
// RUN: %{run} --function plain --reduce-dtype f32 | FileCheck %s --check-prefix=WIDE-REDUCE
// RUN: %{check} "g[w]=259"
// RUN: %{run} --function plain --reduce-dtype bf16 | FileCheck %s --check-prefix=NARROW-REDUCE
// RUN: %{check} "g[w]=260"
// RUN: %{run} --function sharded | FileCheck %s --check-prefix=WIDE-SCATTER
// RUN: %{check} "g[w]=259"
// RUN: %{run} --function sharded --reduce-dtype f32 | FileCheck %s --check-prefix=WIDE-SCATTER
// RUN: %{check} "g[w]=259"
// RUN: %{run} --function sharded --reduce-dtype bf16 | FileCheck %s --check-prefix=NARROW-SCATTER
// RUN: %{check} "g[w]=260"
// RUN: %{run} --function chain | FileCheck %s --check-prefix=WIDE-REDUCE
// RUN: %{check} "g[w]=-259"
// RUN: %{run} --function chain --reduce-dtype f32 | FileCheck %s --check-prefix=WIDE-REDUCE
// RUN: %{check} "g[w]=-259"
// RUN: %{run} --function chain --reduce-dtype bf16 | FileCheck %s --check-prefix=NARROW-REDUCE
// RUN: %{check} "g[w]=-260"
// RUN: %{run} --function twice | FileCheck %s --check-prefix=WIDE-REDUCE
// RUN: %{check} "g[w]=259"
// RUN: %{run} --function twice --reduce-dtype f32 | FileCheck %s --check-prefix=WIDE-REDUCE
// RUN: %{check} "g[w]=259"
// RUN: %{run} --function twice --reduce-dtype bf16 | FileCheck %s --check-prefix=NARROW-REDUCE
// RUN: %{check} "g[w]=260"
// RUN: %{run} --function narrow | FileCheck %s --check-prefix=NARROW-REDUCE
// RUN: %{check} "g[w]=260"
// RUN: %{run} --function narrow --reduce-dtype f32 | FileCheck %s --check-prefix=WIDE-REDUCE
// RUN: %{check} "g[w]=259"
// RUN: %{run} --function narrow --reduce-dtype bf16 | FileCheck %s --check-prefix=NARROW-REDUCE
// RUN: %{check} "g[w]=260"

// WIDE-REDUCE: backward all_reduce x1 48 B
// NARROW-REDUCE: backward all_reduce x1 24 B
// WIDE-SCATTER: backward reduce_scatter x1 24 B
// NARROW-SCATTER: backward reduce_scatter x1 12 B

// Once for all micro-batches, and for each.
// RUN: tpsp-run %s --grad --extent b=8 --function plain --micro-batches 2 | FileCheck %s --check-prefix=WIDE-REDUCE
// RUN: tpsp-run %s --grad --extent b=8 --function plain --micro-batches 2 --reduce-dtype bf16 | FileCheck %s --check-prefix=NARROW-REDUCE
// RUN: tpsp-run %s --grad --extent b=8 --function plain --micro-batches 2 --optimizer adamw --optimizer-axes dp --reduce-gradients part | FileCheck %s --check-prefix=PARTS
// PARTS: backward reduce_scatter x2 48 B

tpsp.program <b = 4, e = 8, f = 8> {
mesh @mesh <dp = 4 : data>
func @plain(%x: bf16[b@dp], param %w: [e]) -> ([] {tpsp.name = "loss"}) {
  %c = convert %w -> bf16[e]
  %y = einsum %c, %x -> bf16[b@dp, e]
  %z = convert %y -> f32[b@dp, e]
  %l = reduce %z -> f32[]
  return %l
}
func @sharded(%x: bf16[b@dp], param %w: [e@dp]) -> ([] {tpsp.name = "loss"}) {
  %c = convert %w -> bf16[e@dp]
  %y = einsum %c, %x -> bf16[b@dp, e]
  %z = convert %y -> f32[b@dp, e]
  %l = reduce %z -> f32[]
  return %l
}
func @chain(%x: bf16[b@dp], param %w: [e]) -> ([] {tpsp.name = "loss"}) {
  %s = scale %w {factor = 1.0}
  %c = convert %s -> bf16[e]
  %n = neg %c
  %r = rename %n -> bf16[f]
  %y = einsum %r, %x -> bf16[b@dp, f]
  %z = convert %y -> f32[b@dp, f]
  %l = reduce %z -> f32[]
  return %l
}
func @twice(%x: bf16[b@dp], param %w: [e]) -> ([] {tpsp.name = "loss"}) {
  %c = convert %w -> bf16[e]
  %y = einsum %c, %x -> bf16[b@dp, e]
  %n = neg %x
  %v = einsum %c, %n -> bf16[b@dp, e]
  %d = sub %y, %v
  %h = scale %d {factor = 0.5}
  %z = convert %h -> f32[b@dp, e]
  %l = reduce %z -> f32[]
  return %l
}
func @narrow(%x: bf16[b@dp], param %w: bf16[e]) -> ([] {tpsp.name = "loss"}) {
  %y = einsum %w, %x -> bf16[b@dp, e]
  %n = neg %x
  %v = einsum %w, %n -> bf16[b@dp, e]
  %d = sub %y, %v
  %h = scale %d {factor = 0.5}
  %z = convert %h -> f32[b@dp, e]
  %l = reduce %z -> f32[]
  return %l
}
}
