// Causal attention in one call with divided queries: each rank's mask begins
// where its queries do. Outputs and gradients equal those of whole rows in f64.
// The tests have odd parts, divided heads, several axes, groups of heads, and
// all options of scores.
// REQUIRES: tpsp-run
// RUN: split-file %s %t

// DEFINE: %{file} = groups
// DEFINE: %{run} = tpsp-run %t/%{file}.mlir --grad --verify --quiet --attention
// RUN: %{run} fused
// RUN: %{run} fused --mesh cp=7 --threads 2
// RUN: %{run} fused --mesh cp=21
// RUN: %{run} fused --dtype bf16
// RUN: %{run} fused --overlap on --hardware h100-sxm
// RUN: %{run} rows

// REDEFINE: %{file} = scores
// RUN: %{run} fused
// RUN: %{run} fused --mesh cp=4,tp=2
// RUN: %{run} rows

// REDEFINE: %{file} = axes
// RUN: %{run} fused
// RUN: %{run} fused --mesh dp=2,cp=3,cq=2
// RUN: %{run} fused --dtype f16

// It is one call, and no scores are computed.
// RUN: tpsp-run %t/groups.mlir --grad --attention fused --backend trace | FileCheck %s --implicit-check-not=" matmul " --implicit-check-not=" kernel "
// CHECK: rank 0 {{.*}}attention b=2 h=2 g=3 s=7 t=21 {{.*}} causal start=0
// CHECK: rank 0 {{.*}}attention_gradient b=2 h=2 g=3 s=7 t=21 {{.*}} causal start=0
// Axes are major to minor.
// RUN: tpsp-opt %t/axes.mlir --tpsp-pipeline="attention=fused" | FileCheck %s --check-prefix=AXES
// AXES: plan.attention {{.*}}query_start = array<i64: 3, 0, 0, 0, 1, 2>

// On GPUs the mask ends at the last query and key, so queries after all keys
// are not allowed.
// RUN: sed 's/f32/bf16/' %t/groups.mlir | tpsp-opt --tpsp-pipeline="grad attention=fused device=cuda" | FileCheck %s --check-prefix=GPU
// GPU: plan.attention {{.*}}query_start = array<i64: 7, 0, 0, 0, 0>
// GPU: plan.attention_gradient {{.*}}query_start = array<i64: 7, 0, 0, 0, 0>
// RUN: sed 's/f32/bf16/' %t/axes.mlir | tpsp-opt --tpsp-pipeline="grad attention=fused device=cuda" --remarks-filter-missed='tpsp-.*' --remark-policy=all 2>&1 | FileCheck %s --check-prefix=FEWER --implicit-check-not="plan.attention"
// FEWER: cuDNN has no such attention: its queries are divided, and more than its 5 keys

//--- groups.mlir
tpsp.mesh @mesh <cp = 3>
!q = tensor<2x21x2x3x8xf32, #tpsp.idx<b, s@cp, h, r, k>>
!k = tensor<2x21x2x8xf32, #tpsp.idx<b, t@cp, h, k>>
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
!is = tensor<1x20xi32, #tpsp.idx<b, s@cp>>
!it = tensor<1x23xi32, #tpsp.idx<b, t>>
func.func @f(%q: !q, %k: !k, %v: !v, %bias: !bias {tpsp.param},
             %is: !is {tpsp.below = 2}, %it: !it {tpsp.below = 2}) -> (!o, !o, !o) {
  %all = tpsp.attention %q, %k, %v, %bias, %is, %it {query = "s", key = "t",
           feature = "k", scale = 0.7, softcap = 1.5, causal, window = 7}
       : (!q, !k, !v, !bias, !is, !it) -> !o
  %window = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
              causal, window = 3} : (!q, !k, !v) -> !o
  %cap = tpsp.attention %q, %k, %v, %bias {query = "s", key = "t", feature = "k",
           causal, softcap = 0.5} : (!q, !k, !v, !bias) -> !o
  return %all, %window, %cap : !o, !o, !o
}

//--- axes.mlir
tpsp.mesh @mesh <dp = 1, cp = 2, cq = 2>
!q = tensor<2x12x1x3x8xf32, #tpsp.idx<b@dp, s@cp@cq, h, r, k>>
!k = tensor<2x5x1x8xf32, #tpsp.idx<b@dp, t, h, k>>
func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
  %o = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
         causal, scale = 0.25} : (!q, !k, !k) -> !q
  return %o : !q
}
