// Attention in one call: one command forward, with the statistic if there is a
// backward pass, and one backward; no scores anywhere.

// RUN: tpsp-opt %examples/gqa.mlir --tpsp-pipeline="grad attention=fused" | FileCheck %s --implicit-check-not=softmax
// Two layers; a rank has 2 of 8 heads of keys, each for 2 heads of queries.
// CHECK-COUNT-2: plan.attention %{{.*}} statistic %{{.*}} : memref<8x2x2x64xf32> {causal, scale = 2.500000e-01 : f64, sizes = array<i64: 8, 2, 2, 64, 64, 16, 16>
// CHECK-NOT: plan.attention %
// CHECK-COUNT-2: plan.attention_gradient
// CHECK-NOT: plan.attention

// RUN: tpsp-opt %examples/gqa.mlir --tpsp-pipeline="attention=fused" | FileCheck %s --check-prefix=FORWARD --implicit-check-not=attention_gradient
// FORWARD: plan.attention
// FORWARD-NOT: statistic

// Redone in the backward pass: together again.
// RUN: tpsp-opt %examples/gqa.mlir --tpsp-pipeline="grad attention=fused rematerialize=full" | FileCheck %s --check-prefix=FULL
// FULL-COUNT-2: plan.attention %{{.*}} to %{{[0-9]+}} {
// FULL: plan.attention %{{.*}} to %{{.*}} statistic
// FULL: plan.attention_gradient

// The ledger is that of rows.
// RUN: tpsp-opt %examples/gqa.mlir --tpsp-explain="attention=fused" | grep "^ *over \|of every kind" > %t.fused
// RUN: tpsp-opt %examples/gqa.mlir --tpsp-explain="attention=rows" | grep "^ *over \|of every kind" > %t.rows
// RUN: diff %t.fused %t.rows

// A GPU's library takes 16-bit numbers; for others rows, and a remark says why.
// RUN: tpsp-opt %examples/gqa.mlir --tpsp-pipeline="grad attention=fused device=cuda" --remarks-filter-missed='tpsp-.*' --remark-policy=all 2>&1 | FileCheck %s --check-prefix=GPU --implicit-check-not="plan.attention"
// GPU: cuDNN has no such attention: its elements are f32, not f16 or bf16

// Queries are divided: the call has a rank's first query and gathered keys.
// RUN: tpsp-opt %examples/cp-attention.mlir --tpsp-pipeline="grad attention=fused" | FileCheck %s --check-prefix=DIVIDED --implicit-check-not=plan.permute
// DIVIDED: plan.all_gather
// DIVIDED: plan.attention {{.*}}query_start = array<i64: 16, 0, 0, 0, 0>
// DIVIDED: plan.attention_gradient {{.*}}query_start = array<i64: 16, 0, 0, 0, 0>

// Converted without tpsp-sweep, attention that no call does is refused.
// RUN: not tpsp-opt %s --convert-tpsp-to-plan 2>&1 | FileCheck %s --check-prefix=LEFT
// LEFT: error: 'tpsp.attention' op has no command, because index 'k' is not innermost in every tensor; run tpsp-sweep before converting to a plan
!q = tensor<4x8xf32, #tpsp.idx<k, s, local>>
!k = tensor<8x4xf32, #tpsp.idx<t, k, local>>
!y = tensor<8x4xf32, #tpsp.idx<s, k, local>>
func.func @left(%q: !q, %k: !k) -> !y {
  %y = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k"}
     : (!q, !k, !k) -> !y
  return %y : !y
}
