// Sinks of grouped heads next to every option of attention, in all forms, in f64.
// Windows under context parallelism are handed on, axes divide heads in place of
// positions (Ulysses), and the batch comes in parts.
// REQUIRES: tpsp-run
// RUN: split-file %s %t

// DEFINE: %{file} = groups
// DEFINE: %{options} =
// DEFINE: %{run} = tpsp-run %t/%{file}.mlir --grad --verify --quiet %{options} --attention
// RUN: %{run} fused && %{run} rows && %{run} blocks --attention-block 5
// REDEFINE: %{options} = --mesh dp=2,cp=2,tp=2
// RUN: %{run} fused && %{run} rows && %{run} blocks
// REDEFINE: %{options} = --mesh dp=1,cp=4,tp=2 --micro-batches 2
// RUN: %{run} fused && %{run} rows
// REDEFINE: %{options} = --mesh dp=2,cp=2,tp=1 --rematerialize full --overlap on --hardware h100-sxm
// RUN: %{run} fused && %{run} rows
// REDEFINE: %{options} = --mesh dp=1,cp=4,tp=1 --rematerialize selective --balance-attention on
// RUN: %{run} fused
// REDEFINE: %{options} = --extent s=26 --pad s=4
// RUN: %{run} fused && %{run} rows && %{run} blocks
// RUN: sed 's/f64/f32/g' %t/groups.mlir > %t/f32.mlir
// REDEFINE: %{file} = f32
// REDEFINE: %{options} = --mesh dp=1,cp=2,tp=2 --dtype bf16
// RUN: %{run} fused && %{run} rows && %{run} blocks

// REDEFINE: %{file} = ulysses
// REDEFINE: %{options} =
// RUN: %{run} fused && %{run} rows && %{run} blocks

// Dropout draws as without a sink, and weights that it keeps are smaller.
// REDEFINE: %{file} = dropped
// RUN: %{run} fused && %{run} rows && %{run} blocks

// A call of attention with a sink is one without, and an elementwise kernel.
// RUN: tpsp-run %t/ulysses.mlir --grad --attention fused --backend trace | FileCheck %s
// CHECK: rank 0 {{.*}} attention b=1 h=4 g=1 s=16 t=16
// CHECK-NEXT: rank 0 {{.*}} kernel {{.*}}_sigmoid
// CHECK: rank 0 {{.*}} attention_gradient b=1 h=4 g=1 s=16 t=16

// The predicted work of products is the same.
// RUN: tpsp-run %t/ulysses.mlir --grad --attention fused --simulate --hardware cpu --quiet --report %t.json && grep '"matmul_flops"' %t.json > %t.with
// RUN: sed 's/%%v, %%sink/%%v/' %t/ulysses.mlir > %t/without.mlir
// RUN: tpsp-run %t/without.mlir --grad --attention fused --simulate --hardware cpu --quiet --report %t.json && grep '"matmul_flops"' %t.json > %t.without
// RUN: cmp %t.with %t.without

//--- groups.mlir
tpsp.program <b = 4, s = 28, t = s, g = 2, r = 3, k = 5, v = 7> {
mesh @mesh <dp = 1 : data, cp = 2 : data, tp = 1 : model>
func @f(%q: f64[b@dp, s@cp, g@tp, r, k], %k0: f64[b@dp, s@cp, g@tp, k], %v0: f64[b@dp, s@cp, g@tp, v],
        param %sink: f64[r, g@tp], param %ofGroups: f64[g@tp], %n: i32[b@dp],
        %document: i32[b@dp, s@cp] {tpsp.below = 3})
    -> (f64[b@dp, s@cp, g@tp, r, v], f64[b@dp, s@cp, g@tp, r, v], f64[b@dp, s@cp, g@tp, r, v], f64[b@dp, s@cp, g@tp, r, v]) {
  %k = rename %k0 -> [b, t, g, k, ?]
  %v = rename %v0 -> [b, t, g, v, ?]
  %past = rename %document -> i32[b, t, ?]
  %window = attention %q, %k, %v, %sink {query = "s", key = "t", feature = "k", scale = 0.7, causal, window = 5}
  %documents = attention %q, %k, %v, %ofGroups, %document, %past {query = "s", key = "t", feature = "k", scale = 0.5, causal, window = 9, softcap = 1.5}
  %lengths = attention %q, %k, %v, %sink, %n {query = "s", key = "t", feature = "k", softcap = 0.5}
  %all = attention %q, %k, %v, %sink {query = "s", key = "t", feature = "k", scale = 0.3}
  return %window, %documents, %lengths, %all
}
}

//--- ulysses.mlir
tpsp.program <b = 4, s = 16, t = s, h = 4, k = 5> {
mesh @mesh <cp = 4 : data>
func @f(%q0, %k0, %v0: f64[b, s@cp, h, k], param %sink: f64[h]) -> f64[b, s@cp, h, k] {
  %k1 = rename %k0 -> [b, t, h, k, ?]
  %v1 = rename %v0 -> [b, t, h, k, ?]
  %q = reshard %q0 -> [b, s, h@cp, k]
  %k = reshard %k1 -> [b, t, h@cp, k]
  %v = reshard %v1 -> [b, t, h@cp, k]
  %o = attention %q, %k, %v, %sink {query = "s", key = "t", feature = "k", scale = 0.7, causal}
  %y = reshard %o -> [b, s@cp, h, k]
  return %y
}
}

//--- dropped.mlir
tpsp.program <b = 4, s = 16, t = s, h = 2, k = 5> {
mesh @mesh <dp = 2 : data, tp = 2 : model>
func @f(%q, %k0, %v0: f64[b@dp, s, h@tp, k], param %sink: f64[h@tp]) -> (f64[b@dp, s, h@tp, k], f64[b@dp, s, h@tp, k]) {
  %k = rename %k0 -> [b, t, h, k, ?]
  %v = rename %v0 -> [b, t, h, k, ?]
  %o = attention %q, %k, %v, %sink {query = "s", key = "t", feature = "k", scale = 0.7, causal, dropout = 0.3, seed = 5}
  %p = attention %q, %k, %v, %sink {query = "s", key = "t", feature = "k", scale = 0.7, causal, window = 6, dropout = 0.5, seed = 6}
  return %o, %p
}
}
