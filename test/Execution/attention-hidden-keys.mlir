// A causal mask, segments, lengths and a bias of minus infinity hide keys. Any
// other bias is a number, however low. Results and gradients equal those of a
// script's plain loops and of the reference: in rows and in one call, on one
// rank, with heads divided and with the sequence divided. A row that sees no key
// is zeros and has no gradient.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: mkdir -p %t/in %t/low

// DEFINE: %{file} = bias
// DEFINE: %{low} = in
// DEFINE: %{extra} =
// DEFINE: %{inputs} = --inputs bias=%t/%{low}/bias.npy
// DEFINE: %{causal} =
// DEFINE: %{tolerance} = 2e-6
// DEFINE: %{check} = python3 %S/Inputs/hidden-keys.py check %t/all.safetensors 0.5 %{causal} %{tolerance} | FileCheck %s
// DEFINE: %{run} = tpsp-run %t/%{file}.mlir --grad --verify --quiet %{inputs} --save-all %t/all.safetensors %{extra}
// CHECK: o g[q] g[k] g[v] {{.*}}are right

// RUN: python3 %S/Inputs/hidden-keys.py make %t/in -1e30
// RUN: %{run} --attention rows && %{check}
// RUN: %{run} --attention fused && %{check}
// RUN: %{run} --attention rows --mesh cp=2,tp=2 && %{check}
// RUN: %{run} --attention fused --mesh cp=4,tp=2 && %{check}
// RUN: %{run} --attention fused --mesh cp=2,tp=1 --overlap on --hardware h100-sxm && %{check}
// REDEFINE: %{causal} = causal
// RUN: sed 's/scale = 0.5/scale = 0.5, causal/' %t/bias.mlir > %t/causal.mlir
// REDEFINE: %{file} = causal
// RUN: %{run} --attention rows && %{check}
// RUN: %{run} --attention fused && %{check}
// RUN: %{run} --attention rows --mesh cp=2,tp=2 && %{check}
// RUN: %{run} --attention fused --mesh cp=4,tp=1 --balance-attention off && %{check}
// RUN: %{run} --attention fused --mesh cp=4,tp=2 --balance-attention on && %{check}

// Samples that are padded on the left, also with lengths and with segments.
// REDEFINE: %{file} = padding
// REDEFINE: %{inputs} = --inputs padding=%t/%{low}/padding.npy
// RUN: %{run} --attention rows && %{check}
// RUN: %{run} --attention fused --mesh cp=2,tp=2 && %{check}
// RUN: %{run} --attention rows --mesh cp=4,tp=1 --dtype bf16
// RUN: %{run} --attention fused --mesh cp=4,tp=1 --dtype bf16
// REDEFINE: %{file} = lengths
// REDEFINE: %{inputs} = --inputs padding=%t/%{low}/padding.npy --inputs n=%t/in/n.npy
// RUN: %{run} --attention rows --mesh cp=2,tp=1 && %{check}
// RUN: %{run} --attention fused --mesh cp=2,tp=2 && %{check}
// REDEFINE: %{file} = segments
// REDEFINE: %{inputs} = --inputs is=%t/in/is.npy --inputs it=%t/in/it.npy
// RUN: %{run} --attention rows && %{check}
// RUN: %{run} --attention fused --mesh cp=2,tp=2 && %{check}
// RUN: %{run} --attention blocks --attention-block 2 --mesh cp=2,tp=1 && %{check}
// REDEFINE: %{causal} =
// RUN: sed 's/, causal//' %t/segments.mlir > %t/all.mlir
// REDEFINE: %{file} = all
// RUN: %{run} --attention rows --mesh cp=4,tp=2 && %{check}
// RUN: %{run} --attention fused && %{check}
// RUN: %{run} --attention blocks --mesh cp=4,tp=2 && %{check}

// In 16 bits, where results are rounded to them.
// RUN: python3 %S/Inputs/hidden-keys.py make %t/low -65504
// REDEFINE: %{file} = bias
// REDEFINE: %{inputs} = --inputs bias=%t/%{low}/bias.npy
// REDEFINE: %{low} = in
// RUN: %{run} --attention rows --dtype bf16
// RUN: %{run} --attention fused --dtype bf16 --mesh cp=2,tp=2
// REDEFINE: %{low} = low
// RUN: %{run} --attention rows --dtype f16
// RUN: %{run} --attention fused --dtype f16 --mesh cp=2,tp=2

//--- bias.mlir
tpsp.program <b = 4, s = 8, t = s, h = 2, k = 4> {
mesh @mesh <cp = 1, tp = 1>
func @f(%q: [b, s@cp, h@tp, k], %k, %v: [b, t@cp, h@tp, k], %bias: [h@tp, s@cp, t]) -> [b, s@cp, h@tp, k] {
  %o = attention %q, %k, %v, %bias {query = "s", key = "t", feature = "k", scale = 0.5}
  return %o
}
}
//--- padding.mlir
tpsp.program <b = 4, s = 8, t = s, h = 2, k = 4> {
mesh @mesh <cp = 1, tp = 1>
func @f(%q: [b, s@cp, h@tp, k], %k, %v: [b, t@cp, h@tp, k], %padding: [b, t]) -> [b, s@cp, h@tp, k] {
  %o = attention %q, %k, %v, %padding {query = "s", key = "t", feature = "k", scale = 0.5, causal}
  return %o
}
}
//--- lengths.mlir
tpsp.program <b = 4, s = 8, t = s, h = 2, k = 4> {
mesh @mesh <cp = 1, tp = 1>
func @f(%q: [b, s@cp, h@tp, k], %k, %v: [b, t@cp, h@tp, k], %padding: [b, t], %n: i32[b]) -> [b, s@cp, h@tp, k] {
  %o = attention %q, %k, %v, %padding, %n {query = "s", key = "t", feature = "k", scale = 0.5, causal}
  return %o
}
}
//--- segments.mlir
tpsp.program <b = 4, s = 8, t = s, h = 2, k = 4> {
mesh @mesh <cp = 1, tp = 1>
func @f(%q: [b, s@cp, h@tp, k], %k, %v: [b, t@cp, h@tp, k], %is: i32[b, s@cp] {tpsp.below = 4}, %it: i32[b, t@cp] {tpsp.below = 4}) -> [b, s@cp, h@tp, k] {
  %o = attention %q, %k, %v, %is, %it {query = "s", key = "t", feature = "k", scale = 0.5, causal}
  return %o
}
}
