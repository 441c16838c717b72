// NVIDIA/Megatron-LM#1446, EleutherAI/gpt-neox#1257 (and TransformerEngine#435,
// where users ask where it happens): with sequence parallelism every rank has
// the gradient of a norm's gain from its own positions only. Not summed over tp,
// the gains of the ranks drift apart.
//
// Here the gain lacks s, over which its gradient sums: it comes out partial over
// tp and is all-reduced, with the bias, because both are wanted whole.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: tpsp-run %s --mesh tp=2 --grad --verify --quiet
// RUN: tpsp-run %s --mesh tp=8 --dtype bf16 --grad --verify --quiet

// CHECK: phase kind axes
// CHECK-NEXT: backward all_reduce tp 144 B g[bias], g[gain]
// CHECK-EMPTY:
// CHECK: all within tolerance

tpsp.mesh @mesh <tp = 4 : model>

!x = tensor<2x16x12xf32, #tpsp.idx<b, s@tp, d>>
!g = tensor<12xf32, #tpsp.idx<d>>
func.func @final_norm(%x: !x, %gain: !g {tpsp.param = "gain"},
                      %bias: !g {tpsp.param = "bias"}) -> !x {
  %y = tpsp.layer_norm %x, %gain, %bias : (!x, !g, !g) -> !x
  return %y : !x
}
