// Attention with a window, a soft-cap, a bias, segments, and all of them.
// Results and gradients are the same in one call, block by block and
// written out, with heads or the sequence divided. In f64 they are the same
// to far more than 1e-5; f32 and 16 bits round. Segment numbers of queries
// and keys are independent, so some queries see no key. Blocks refuse a
// bias.
// REQUIRES: tpsp-run
// RUN: split-file %s %t

// Heads divided: one call.
// DEFINE: %{file} = heads
// DEFINE: %{run} = tpsp-run %t/%{file}.mlir --grad --verify --quiet --attention
// RUN: %{run} fused
// RUN: %{run} rows
// RUN: %{run} fused --mesh tp=1
// RUN: tpsp-run %t/heads.mlir --grad --attention fused 2>&1 | FileCheck %s --check-prefix=FUSED
// FUSED: Attention in one call
// RUN: not %{run} blocks 2>&1 | FileCheck %s --check-prefix=BIASED
// BIASED: 'tpsp.attention' op has a bias, which is not added in blocks of keys; way out: --attention rows, or --attention fused
// DEFINE: %{unbiased} = sed 's/%%v, %%bias/%%v/; s/, !bias\([,)]\)/\1/'
// RUN: %{unbiased} %t/heads.mlir > %t/unbiased.mlir
// REDEFINE: %{file} = unbiased
// RUN: %{run} blocks --attention-block 3
// RUN: sed 's/f64/f32/g' %t/heads.mlir > %t/f32.mlir
// REDEFINE: %{file} = f32
// RUN: %{run} fused
// RUN: %{run} fused --dtype bf16 --threads 2
// RUN: %{unbiased} %t/f32.mlir > %t/f32-unbiased.mlir
// REDEFINE: %{file} = f32-unbiased
// RUN: %{run} blocks --attention-block 4
// RUN: %{run} blocks --dtype f16

// The sequence divided: a ring, if tensors with keys are gathered only for it.
// REDEFINE: %{file} = sequence
// RUN: %{run} fused
// RUN: %{run} fused --mesh cp=4
// RUN: %{run} fused --overlap on --hardware h100-sxm
// Whole rows stay where the queries are; the keys' numbers come there.
// RUN: %{run} rows --mesh cp=4
// RUN: %{unbiased} %t/sequence.mlir > %t/unbiased.mlir
// REDEFINE: %{file} = unbiased
// RUN: %{run} blocks --attention-block 2

// A bias for each batch that all heads and rows share: its gradient is a
// sum over those. Then a bias that all batches and heads share, without a
// mask.
// REDEFINE: %{file} = shared
// RUN: %{run} fused
// RUN: %{run} rows
// RUN: %{run} fused --mesh dp=1

// Rows as long as the window have none.
// REDEFINE: %{file} = wide
// RUN: %{run} fused
// RUN: tpsp-opt %t/wide.mlir --canonicalize | FileCheck %s --check-prefix=WIDE
// WIDE: tpsp.attention {{.*}}window = 12 : i64
// RUN: sed 's/window = 12/window = 13/' %t/wide.mlir | tpsp-opt --canonicalize | FileCheck %s --check-prefix=WIDER
// WIDER: tpsp.attention
// WIDER-NOT: window

//--- heads.mlir
tpsp.mesh @mesh <tp = 2 : model>
!q = tensor<2x13x2x3x5xf64, #tpsp.idx<b, s, g@tp, r, k>>
!k = tensor<2x13x2x5xf64, #tpsp.idx<b, t, g@tp, k>>
!v = tensor<2x13x2x7xf64, #tpsp.idx<b, t, g@tp, w>>
!o = tensor<2x13x2x3x7xf64, #tpsp.idx<b, s, g@tp, r, w>>
!bias = tensor<2x3x13x13xf64, #tpsp.idx<g@tp, r, s, t>>
!is = tensor<2x13xi32, #tpsp.idx<b, s>>
!it = tensor<2x13xi32, #tpsp.idx<b, t>>
func.func @f(%q: !q, %k: !k, %v: !v, %bias: !bias {tpsp.param},
             %is: !is {tpsp.below = 3}, %it: !it {tpsp.below = 3}) -> (!o, !o, !o) {
  %all = tpsp.attention %q, %k, %v, %bias, %is, %it {query = "s", key = "t",
           feature = "k", scale = 0.7, softcap = 1.5, causal, window = 4}
       : (!q, !k, !v, !bias, !is, !it) -> !o
  %window = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
              scale = 0.7, causal, window = 5} : (!q, !k, !v) -> !o
  %cap = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
           softcap = 0.5} : (!q, !k, !v) -> !o
  return %all, %window, %cap : !o, !o, !o
}

//--- sequence.mlir
tpsp.mesh @mesh <cp = 2>
!q = tensor<3x16x2x5xf64, #tpsp.idx<b, s@cp, h, k>>
!k = tensor<3x16x2x5xf64, #tpsp.idx<b, t@cp, h, k>>
!bias = tensor<2x16x16xf64, #tpsp.idx<h, s@cp, t>>
!is = tensor<3x16xi32, #tpsp.idx<b, s@cp>>
!it = tensor<3x16xi32, #tpsp.idx<b, t@cp>>
func.func @f(%q: !q, %k: !k, %v: !k, %bias: !bias {tpsp.param},
             %is: !is {tpsp.below = 2}, %it: !it {tpsp.below = 2}) -> (!q, !q, !q) {
  %ring = tpsp.attention %q, %k, %v, %is, %it {query = "s", key = "t",
            feature = "k", scale = 0.7, softcap = 1.5, causal, window = 6}
        : (!q, !k, !k, !is, !it) -> !q
  %segments = tpsp.attention %q, %k, %v, %is, %it {query = "s", key = "t",
                feature = "k", scale = 0.7} : (!q, !k, !k, !is, !it) -> !q
  %biased = tpsp.attention %q, %k, %v, %bias {query = "s", key = "t",
              feature = "k", causal, window = 3} : (!q, !k, !k, !bias) -> !q
  return %ring, %segments, %biased : !q, !q, !q
}

//--- shared.mlir
tpsp.mesh @mesh <dp = 2 : data>
!q = tensor<4x9x3x5xf64, #tpsp.idx<b@dp, s, h, k>>
!k = tensor<4x11x3x5xf64, #tpsp.idx<b@dp, t, h, k>>
!keys = tensor<4x11xf64, #tpsp.idx<b@dp, t>>
!rows = tensor<9xf64, #tpsp.idx<s>>
!all = tensor<11x9xf64, #tpsp.idx<t, s>>
func.func @f(%q: !q, %k: !k, %v: !k, %keys: !keys {tpsp.param},
             %rows: !rows {tpsp.param}, %all: !all {tpsp.param}) -> (!q, !q, !q) {
  %0 = tpsp.attention %q, %k, %v, %keys {query = "s", key = "t", feature = "k"}
     : (!q, !k, !k, !keys) -> !q
  %1 = tpsp.attention %q, %k, %v, %all {query = "s", key = "t", feature = "k", causal}
     : (!q, !k, !k, !all) -> !q
  %2 = tpsp.attention %q, %k, %v, %rows {query = "s", key = "t", feature = "k", softcap = 2}
     : (!q, !k, !k, !rows) -> !q
  return %0, %1, %2 : !q, !q, !q
}

//--- wide.mlir
!q = tensor<1x13x2x5xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<1x13x2x5xf32, #tpsp.idx<b, t, h, k>>
func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
  %o = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal, window = 12}
     : (!q, !k, !k) -> !q
  return %o : !q
}
