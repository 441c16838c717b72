// huggingface/transformers#48687: under expert parallelism the router's gradient
// was wrong although the loss was right. NVIDIA/Megatron-LM#5956, #7160 and
// pytorch/pytorch#160285: the experts' was off by the size of the group.
//
// Here tokens are in groups, which are sharded over ep as the experts are: two
// all-to-alls forward and two backward. The router's weight is replicated and
// used on every rank's groups, so its gradient is summed over ep; the experts'
// weights are where their tokens go, so theirs needs nothing. The mean divides
// by the number of all tokens, once.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: tpsp-run %s --mesh ep=2 --grad --verify --quiet
// RUN: tpsp-run %s --mesh ep=1 --grad --verify --quiet

// CHECK: phase kind axes
// CHECK-NEXT: forward all_to_all ep g -> e 2.8 KiB y
// CHECK-NEXT: forward all_to_all ep e -> g 2.8 KiB v
// CHECK-NEXT: forward all_reduce ep 6 B
// CHECK-NEXT: backward all_to_all ep g -> e 2.8 KiB g[v]
// CHECK-NEXT: backward all_to_all ep e -> g 2.8 KiB g[y]
// CHECK-NEXT: backward all_reduce ep 288 B g[router]
// CHECK-EMPTY:
// CHECK: all within tolerance

tpsp.mesh @mesh <ep = 4 : data>

!x  = tensor<8x16x12xf32, #tpsp.idx<g@ep, s, d>>
!wr = tensor<4x12xf32, #tpsp.idx<e, d>>
!we = tensor<4x12x12xf32, #tpsp.idx<e@ep, f, d>>
!r  = tensor<8x16x4xf32, #tpsp.idx<g, s, e, ?>>
!k  = tensor<8x16x2xi32, #tpsp.idx<g, s, k, ?>>
!p  = tensor<8x16x2xf32, #tpsp.idx<g, s, k, ?>>
!y  = tensor<4x8x10x12xf32, #tpsp.idx<e@ep, g, c, d>>
!v  = tensor<4x8x10x12xf32, #tpsp.idx<e@ep, g, c, f>>
!z  = tensor<8x16x12xf32, #tpsp.idx<g@ep, s, f>>
!l  = tensor<f32, #tpsp.idx<>>
func.func @moe(%x: !x, %wr: !wr {tpsp.param = "router"},
               %we: !we {tpsp.param = "experts"}) -> (!z, !l) {
  %logits = tpsp.einsum %wr, %x : (!wr, !x) -> !r
  %probs = tpsp.softmax %logits {over = "e"} : !r
  %ids = tpsp.router %probs {expert = "e", choice = "k"} : (!r) -> !k
  %top = tpsp.one_hot_einsum %ids, %probs {indices = ["e"]} : (!k, !r) -> !p
  %y = tpsp.dispatch %ids, %x {expert = "e", slot = "c", choice = "k"} : (!k, !x) -> !y
  %h = tpsp.einsum %we, %y : (!we, !y) -> !v
  %v = tpsp.silu %h : !v
  %z = tpsp.combine %ids, %top, %v {expert = "e", slot = "c", choice = "k"} : (!k, !p, !v) -> !z
  %q = tpsp.square %z : !z
  %l = tpsp.mean %q : (!z) -> !l
  return %z, %l : !z, !l
}
