// Attention in chunks: a query sees the earlier keys of its own chunk. Outputs
// and gradients equal those of the unsharded program in f64, in one call, block
// by block and in rows. The chunks are of one position, not divisors of the
// extent, shorter and longer than a shard, and one position short of the row.
// REQUIRES: tpsp-run
// RUN: split-file %s %t

// DEFINE: %{chunk} = 5
// DEFINE: %{options} =
// DEFINE: %{run} = sed 's/CHUNK/%{chunk}/' %t/groups.mlir > %t/run.mlir && tpsp-run %t/run.mlir --grad --verify --quiet %{options} --attention

// RUN: %{run} fused && %{run} rows && %{run} blocks
// REDEFINE: %{chunk} = 1
// RUN: %{run} fused && %{run} rows && %{run} blocks
// REDEFINE: %{chunk} = 7
// RUN: %{run} fused && %{run} rows
// REDEFINE: %{chunk} = 13
// RUN: %{run} fused && %{run} blocks --attention-block 3
// REDEFINE: %{chunk} = 27
// RUN: %{run} fused && %{run} rows

// Other meshes, types and schedules. A ring needs all keys of the sequence, so
// they are gathered.
// REDEFINE: %{chunk} = 5
// REDEFINE: %{options} = --mesh dp=2,cp=2,tp=2
// RUN: %{run} fused && %{run} rows
// REDEFINE: %{options} = --mesh dp=1,cp=4,tp=2 --micro-batches 2
// RUN: %{run} fused && %{run} rows
// REDEFINE: %{options} = --mesh dp=1,cp=14,tp=1
// RUN: %{run} ring && %{run} blocks
// REDEFINE: %{options} = --mesh dp=1,cp=7,tp=1 --dtype bf16
// RUN: %{run} fused && %{run} rows
// REDEFINE: %{options} = --mesh dp=1,cp=1,tp=2 --dtype f32
// RUN: %{run} fused && %{run} rows && %{run} blocks
// REDEFINE: %{options} = --mesh dp=2,cp=2,tp=1 --rematerialize full --overlap on --hardware h100-sxm
// RUN: %{run} fused && %{run} rows
// REDEFINE: %{options} = --extent s=26 --pad s=4
// RUN: %{run} fused && %{run} rows && %{run} blocks
// REDEFINE: %{options} = --balance-attention on
// RUN: %{run} fused

// Together with the other options.
// DEFINE: %{all} = tpsp-run %t/options.mlir --grad --verify --quiet --attention
// RUN: %{all} fused
// RUN: %{all} rows --mesh cp=5
// RUN: %{all} fused --mesh cp=1 --dtype f16
// RUN: %{all} fused --mesh cp=15

// Keys are gathered, and none are handed on.
// RUN: sed 's/CHUNK/5/' %t/groups.mlir > %t/run.mlir
// RUN: tpsp-run %t/run.mlir --grad --attention fused --balance-attention off --backend trace | FileCheck %s --implicit-check-not=permute
// CHECK: rank 0 {{.*}}all_gather
// CHECK: rank 0 {{.*}}attention b=2 h=2 g=3 s=7 t=28 {{.*}} causal start=0 chunk=5
// CHECK: rank 0 {{.*}}attention_gradient b=2 h=2 g=3 s=7 t=28 {{.*}} causal start=0 chunk=5

// A call's work is that of pairs of one chunk: five chunks of 15 pairs and one
// of 6, for twelve heads of five features.
// RUN: tpsp-run %t/run.mlir --attention fused --mesh cp=1 --simulate --hardware cpu --quiet --report %t.json && grep '"matmul_flops"' %t.json | FileCheck %s --check-prefix=WORK
// WORK: 19440

// A GPU has no such call, so attention has rows.
// RUN: sed 's/CHUNK/5/; s/k = 5/k = 8/' %t/groups.mlir > %t/gpu.mlir
// RUN: tpsp-run %t/gpu.mlir --attention fused --dtype bf16 --simulate --hardware h100-sxm 2>&1 | FileCheck %s --check-prefix=GPU
// GPU: {{^}}  matmul {{ *}}x2

// Chunks as long as the row hide nothing.
// RUN: sed 's/CHUNK/28/' %t/groups.mlir | tpsp-opt --canonicalize | FileCheck %s --check-prefix=WIDE
// WIDE: attention
// WIDE-NOT: chunk

//--- groups.mlir
tpsp.program <b = 2, s = 28, t = s, g = 2, r = 3, k = 5> {
mesh @mesh <dp = 1 : data, cp = 4 : data, tp = 1 : model>
func @f(%q: [b@dp, s@cp, g@tp, r, k], %k0, %v0: [b@dp, s@cp, g@tp, k]) -> [b@dp, s@cp, g@tp, r, k] {
  %k = rename %k0 -> [b, t, g, k, ?]
  %v = rename %v0 -> [b, t, g, k, ?]
  %o = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.7, causal, chunk = CHUNK}
  return %o
}
}

//--- options.mlir
tpsp.program <b = 2, s = 15, t = s, h = 3, k = 5, v = 7> {
mesh @mesh <cp = 3 : data>
func @f(%q, %k0: [b, s@cp, h, k], %v0: [b, s@cp, h, v], %document: i32[b, s@cp] {tpsp.below = 3}, %length: i32[b], param %bias: [h, s@cp, t], param %sink: [h]) -> ([b, s@cp, h, v], [b, s@cp, h, v], [b, s@cp, h, v], [b, s@cp, h, v]) {
  %k = rename %k0 -> [b, t, h, k, ?]
  %v = rename %v0 -> [b, t, h, v, ?]
  %past = rename %document -> i32[b, t, ?]
  %o = attention %q, %k, %v, %document, %past {query = "s", key = "t", feature = "k", scale = 0.5, causal, chunk = 4, softcap = 1.5}
  %p = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.5, causal, window = 3, chunk = 7}
  %x = attention %q, %k, %v, %bias, %length {query = "s", key = "t", feature = "k", scale = 0.5, causal, chunk = 4}
  %y = attention %q, %k, %v, %sink {query = "s", key = "t", feature = "k", scale = 0.5, causal, chunk = 6}
  return %o, %p, %x, %y
}
}
