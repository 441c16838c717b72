// Attention that is written out is not done in one call. If one call is
// requested, a warning says so, once for each place. Softmax over a router's
// scores, or between products with weights, is no attention.
// RUN: tpsp-opt %s --tpsp-pipeline="attention=fused" -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=warning
// RUN: tpsp-opt %s --tpsp-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=ROWS --allow-empty
// RUN: tpsp-run %s --function model --attention fused 2>&1 | FileCheck %s --implicit-check-not=warning
// ROWS-NOT: warning

!x = tensor<4x8xf32, #tpsp.idx<s, k>>
!t = tensor<4x8xf32, #tpsp.idx<t, k>>
!p = tensor<4x4xf32, #tpsp.idx<s, t>>
!w = tensor<4x8xf32, #tpsp.idx<t, k>>

func.func private @layer(%x: !x) -> !x {
  %y = tpsp.rename %x : !x -> !t
  %scores = tpsp.einsum %x, %y : (!x, !t) -> !p
  %scaled = tpsp.scale %scores {factor = 0.5 : f64} : !p
  // CHECK: written-attention.mlir:[[@LINE+1]]:{{[0-9]+}}: warning: this is attention written out, which is not done in one call: only tpsp.attention is; way out: write the product before, 'tpsp.softmax' and the product after as one tpsp.attention
  %rows = tpsp.softmax %scaled {over = "t", scale = 1.0} : !p
  %kept = tpsp.dropout %rows {rate = 0.1, seed = 7} : !p
  %z = tpsp.einsum %kept, %y : (!p, !t) -> !x
  return %z : !x
}

func.func @model(%x: !x {tpsp.name = "x"}, %w: !w {tpsp.param = "w"}) -> !x {
  %one = call @layer(%x) : (!x) -> !x
  %two = call @layer(%one) : (!x) -> !x
  %scores = tpsp.einsum %two, %w : (!x, !w) -> !p
  %rows = tpsp.softmax %scores {over = "t", scale = 1.0} : !p
  %z = tpsp.einsum %rows, %w : (!p, !w) -> !x
  return %z : !x
}
