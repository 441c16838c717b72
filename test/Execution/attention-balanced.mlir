// Balanced causal attention with divided rows: ranks exchange halves of their
// rows. Outputs and gradients equal those of whole rows in f64. The tests have
// halves of odd length, divided heads, several axes as one group, groups of
// heads, and all options of scores.
// REQUIRES: tpsp-run
// RUN: split-file %s %t

// DEFINE: %{file} = groups
// DEFINE: %{run} = tpsp-run %t/%{file}.mlir --grad --verify --quiet --attention fused --balance-attention on
// RUN: %{run}
// RUN: %{run} --mesh cp=7 --threads 2
// RUN: %{run} --mesh cp=21
// RUN: %{run} --mesh cp=2
// RUN: %{run} --dtype bf16
// RUN: %{run} --overlap on --hardware h100-sxm
// RUN: %{run} --extent s=64,t=64 --mesh cp=4
// RUN: %{run} --extent s=64,t=64 --mesh cp=8

// REDEFINE: %{file} = scores
// RUN: %{run}
// RUN: %{run} --mesh cp=5,tp=4

// REDEFINE: %{file} = axes
// RUN: %{run}
// RUN: %{run} --mesh dp=2,cp=3,cq=2
// RUN: %{run} --mesh dp=1,cp=1,cq=6
// RUN: %{run} --dtype f16

// A layer, whose backward pass exchanges again, redoes, and comes in parts.
// DEFINE: %{layers} = tpsp-run %examples/cp-attention.mlir --grad --verify --quiet --attention fused --balance-attention on
// RUN: %{layers}
// RUN: %{layers} --rematerialize full
// RUN: %{layers} --micro-batches 2 --rematerialize selective
// RUN: %{layers} --micro-batches 2 --overlap on --hardware h100-sxm --overlap-memory 1
// RUN: %{layers} --optimizer adamw --optimizer-axes cp --keep-gathered

// Every rank has two calls, whose starts are 35 together.
// RUN: tpsp-run %t/groups.mlir --attention fused --balance-attention on --backend trace | FileCheck %s
// CHECK: rank 0 {{.*}}permute axes=cp source=2,1,0
// CHECK: rank 0 {{.*}}attention b=2 h=2 g=3 s=7 t=42 {{.*}} causal start=0
// CHECK: rank 0 {{.*}}attention b=2 h=2 g=3 s=7 t=42 {{.*}} causal start=35
// CHECK: rank 0 {{.*}}permute axes=cp source=2,1,0

// The work is that of the rank with the most: with balance the mean of 301
// scores a head, without it the last rank's 497. With a window the ranks in the
// middle have most, 75.
// DEFINE: %{flops} = grep '"matmul_flops"'
// DEFINE: %{predict} = tpsp-run --attention fused --simulate --hardware cpu --quiet --report %t.json
// RUN: %{predict} %t/groups.mlir --balance-attention on && %{flops} %t.json | FileCheck %s --check-prefix=MEAN
// MEAN: 115584
// RUN: %{predict} %t/groups.mlir --balance-attention off && %{flops} %t.json | FileCheck %s --check-prefix=LAST
// LAST: 190848
// RUN: %{predict} %t/window.mlir --balance-attention on && %{flops} %t.json | FileCheck %s --check-prefix=MIDDLE
// MIDDLE: 2400

//--- window.mlir
tpsp.mesh @mesh <cp = 4>
!q = tensor<24x8xf32, #tpsp.idx<s@cp, k>>
!k = tensor<24x8xf32, #tpsp.idx<t@cp, k>>
func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
  %o = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal,
         window = 20} : (!q, !k, !k) -> !q
  return %o : !q
}

//--- groups.mlir
tpsp.mesh @mesh <cp = 3>
!q = tensor<2x42x2x3x8xf32, #tpsp.idx<b, s@cp, h, r, k>>
!k = tensor<2x42x2x8xf32, #tpsp.idx<b, t@cp, h, k>>
func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
  %o = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
         causal, scale = 0.7} : (!q, !k, !k) -> !q
  return %o : !q
}

//--- scores.mlir
tpsp.mesh @mesh <cp = 2, tp = 2>
!q = tensor<1x20x4x5xf32, #tpsp.idx<b, s@cp, h@tp, k>>
!k = tensor<1x23x4x5xf32, #tpsp.idx<b, t, h@tp, k>>
!v = tensor<1x23x4x3xf32, #tpsp.idx<b, t, h@tp, w>>
!o = tensor<1x20x4x3xf32, #tpsp.idx<b, s@cp, h@tp, w>>
!bias = tensor<4x20x23xf32, #tpsp.idx<h@tp, s@cp, t>>
!padding = tensor<1x23xf32, #tpsp.idx<b, t>>
!is = tensor<1x20xi32, #tpsp.idx<b, s@cp>>
!it = tensor<1x23xi32, #tpsp.idx<b, t>>
func.func @f(%q: !q, %k: !k, %v: !v, %bias: !bias {tpsp.param}, %padding: !padding,
             %is: !is {tpsp.below = 2}, %it: !it {tpsp.below = 2}) -> (!o, !o, !o) {
  %all = tpsp.attention %q, %k, %v, %bias, %is, %it {query = "s", key = "t",
           feature = "k", scale = 0.7, softcap = 1.5, causal, window = 17}
       : (!q, !k, !v, !bias, !is, !it) -> !o
  %window = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
              causal, window = 13} : (!q, !k, !v) -> !o
  %cap = tpsp.attention %q, %k, %v, %padding {query = "s", key = "t", feature = "k",
           causal, softcap = 0.5} : (!q, !k, !v, !padding) -> !o
  return %all, %window, %cap : !o, !o, !o
}

//--- axes.mlir
tpsp.mesh @mesh <dp = 1, cp = 2, cq = 2>
!q = tensor<2x12x1x3x8xf32, #tpsp.idx<b@dp, s@cp@cq, h, r, k>>
!k = tensor<2x12x1x8xf32, #tpsp.idx<b@dp, t, h, k>>
func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
  %o = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
         causal, scale = 0.25} : (!q, !k, !k) -> !q
  return %o : !q
}
