// A window under context parallelism: a shard's queries see its own keys and the
// last ones before them, which other shards hand on. Outputs and gradients equal
// those of the unsharded program in f64. The windows are of one key, shorter than
// a shard, of one shard more or less a key, and of several shards.
// REQUIRES: tpsp-run
// RUN: split-file %s %t

// DEFINE: %{window} = 3
// DEFINE: %{options} =
// DEFINE: %{run} = sed 's/WINDOW/%{window}/' %t/groups.mlir > %t/run.mlir && tpsp-run %t/run.mlir --grad --verify --quiet %{options} --attention

// RUN: %{run} fused && %{run} rows && %{run} blocks
// REDEFINE: %{window} = 1
// RUN: %{run} fused && %{run} rows && %{run} blocks
// REDEFINE: %{window} = 7
// RUN: %{run} fused && %{run} rows
// REDEFINE: %{window} = 8
// RUN: %{run} fused && %{run} rows && %{run} blocks
// REDEFINE: %{window} = 11
// RUN: %{run} fused && %{run} rows && %{run} blocks
// The last window that is handed on, and the first whose keys are gathered.
// REDEFINE: %{window} = 21
// RUN: %{run} fused && %{run} rows
// REDEFINE: %{window} = 22
// RUN: %{run} fused && %{run} rows

// Other meshes, types and schedules.
// REDEFINE: %{window} = 5
// REDEFINE: %{options} = --mesh dp=2,cp=2,tp=2
// RUN: %{run} fused && %{run} rows
// REDEFINE: %{options} = --mesh dp=1,cp=4,tp=2 --micro-batches 2
// RUN: %{run} fused && %{run} rows
// REDEFINE: %{options} = --mesh dp=1,cp=14,tp=1
// RUN: %{run} fused && %{run} rows && %{run} blocks
// REDEFINE: %{options} = --mesh dp=1,cp=28,tp=1
// RUN: %{run} fused
// REDEFINE: %{options} = --mesh dp=1,cp=7,tp=1 --dtype bf16
// RUN: %{run} fused && %{run} rows
// REDEFINE: %{options} = --mesh dp=2,cp=2,tp=1 --rematerialize full --overlap on --hardware h100-sxm
// RUN: %{run} fused && %{run} rows
// REDEFINE: %{options} = --extent s=26 --pad s=4
// RUN: %{run} fused && %{run} rows && %{run} blocks
// REDEFINE: %{options} = --balance-attention on
// RUN: %{run} fused

// Keys hold documents of their own, scores are capped, and two axes divide.
// RUN: tpsp-run %t/documents.mlir --grad --verify --quiet --attention fused
// RUN: tpsp-run %t/documents.mlir --grad --verify --quiet --attention rows
// RUN: tpsp-run %t/documents.mlir --grad --verify --quiet --attention blocks
// RUN: tpsp-run %t/documents.mlir --grad --verify --quiet --attention fused --mesh cp=3,cq=2
// RUN: tpsp-run %t/documents.mlir --grad --verify --quiet --attention rows --mesh cp=4,cq=1

// A bias, lengths and dropout need all keys, as before.
// RUN: tpsp-run %t/whole.mlir --grad --verify --quiet --attention fused
// RUN: tpsp-run %t/whole.mlir --grad --verify --quiet --attention rows

// Every rank has seven queries, and two keys before them.
// RUN: sed 's/WINDOW/3/' %t/groups.mlir > %t/run.mlir
// RUN: tpsp-run %t/run.mlir --grad --attention fused --backend trace | FileCheck %s --implicit-check-not=all_gather
// CHECK: rank 0 {{.*}}permute axes=cp source=3,0,1,2
// CHECK: rank 0 {{.*}}attention b=2 h=2 g=3 s=7 t=9 {{.*}} causal start=0 last-keys window=3
// CHECK: rank 0 {{.*}}attention_gradient b=2 h=2 g=3 s=7 t=9 {{.*}} causal start=0 last-keys window=3
// CHECK: rank 0 {{.*}}permute axes=cp source=1,2,3,0

// The call's work is that of its seven queries, which see three keys each, for
// twelve heads of five features.
// RUN: tpsp-run %t/run.mlir --attention fused --simulate --hardware cpu --quiet --report %t.json && grep '"matmul_flops"' %t.json | FileCheck %s --check-prefix=WORK
// WORK: 5040

//--- groups.mlir
tpsp.program <b = 2, s = 28, t = s, g = 2, r = 3, k = 5> {
mesh @mesh <dp = 1 : data, cp = 4 : data, tp = 1 : model>
func @f(%q: [b@dp, s@cp, g@tp, r, k], %k0, %v0: [b@dp, s@cp, g@tp, k]) -> [b@dp, s@cp, g@tp, r, k] {
  %k = rename %k0 -> [b, t, g, k, ?]
  %v = rename %v0 -> [b, t, g, k, ?]
  %o = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.7, causal, window = WINDOW}
  return %o
}
}

//--- documents.mlir
tpsp.program <b = 2, s = 24, t = s, h = 3, k = 5, v = 7> {
mesh @mesh <cp = 2 : data, cq = 2 : data>
func @f(%q, %k0: [b, s@cp@cq, h, k], %v0: [b, s@cp@cq, h, v], %document: i32[b, s@cp@cq] {tpsp.below = 3}) -> ([b, s@cp@cq, h, v], [b, s@cp@cq, h, v]) {
  %k = rename %k0 -> [b, t, h, k, ?]
  %v = rename %v0 -> [b, t, h, v, ?]
  %past = rename %document -> i32[b, t, ?]
  %o = attention %q, %k, %v, %document, %past {query = "s", key = "t", feature = "k", scale = 0.5, causal, window = 5, softcap = 1.5}
  %p = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.5, causal, window = 10, softcap = 0.5}
  return %o, %p
}
}

//--- whole.mlir
tpsp.program <b = 2, s = 24, t = s, h = 3, k = 5> {
mesh @mesh <cp = 4 : data>
func @f(%q, %k0, %v0: [b, s@cp, h, k], %length: i32[b], param %bias: [h, s@cp, t]) -> ([b, s@cp, h, k], [b, s@cp, h, k]) {
  %k = rename %k0 -> [b, t, h, k, ?]
  %v = rename %v0 -> [b, t, h, k, ?]
  %o = attention %q, %k, %v, %length {query = "s", key = "t", feature = "k", scale = 0.5, causal, window = 5}
  %p = attention %q, %k, %v, %bias {query = "s", key = "t", feature = "k", scale = 0.5, causal, window = 5}
  return %o, %p
}
}
