// TP becomes TP+SP if that is faster. An A100's all-reduce is a reduce-scatter
// and an all-gather, and norm and residual are done once instead of on every
// rank. Eight H100 reduce inside the network, which only an all-reduce can, and
// with few tokens nothing is worth another collective.
// DEFINE: %{mark} = --tpsp-propagate
// RUN: tpsp-opt %s %{mark} --tpsp-shard-replicated="shard-replicated=time hardware=a100-sxm" | FileCheck %s --check-prefix=A100
// RUN: tpsp-opt %s %{mark} --tpsp-shard-replicated="shard-replicated=time hardware=h100-sxm grad" | FileCheck %s --check-prefix=H100
// A schedule hides the halves, but not the whole.
// RUN: tpsp-opt %s %{mark} --tpsp-shard-replicated="shard-replicated=time hardware=h100-sxm grad overlap=on" | FileCheck %s --check-prefix=A100
// RUN: not tpsp-opt %s %{mark} --tpsp-shard-replicated="shard-replicated=time hardware=none" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: option 'hardware' of tpsp-shard-replicated: 'none' is no built-in hardware

tpsp.mesh @mesh <tp = 8 : model>

!x  = tensor<1x8192x8192xbf16, #tpsp.idx<b, s, d>>
!x_ = tensor<1x8192x8192xbf16, #tpsp.idx<b, s, d, ?>>
!y  = tensor<1x8192x28672xbf16, #tpsp.idx<b, s, e, ?>>
!w  = tensor<28672x8192xbf16, #tpsp.idx<e@tp, d>>
!v  = tensor<8192x28672xbf16, #tpsp.idx<d, e@tp>>
!g  = tensor<8192xbf16, #tpsp.idx<d>>

// A100-LABEL: @block
// A100: tpsp.note = "s@tp instead of replicated {{.*}} ms instead of {{.*}} ms"
// H100-LABEL: @block
// H100: tpsp.note = "stays replicated over @tp: sharded it would take {{.*}} ms instead of {{.*}} ms (all-reduces become reduce-scatters and all-gathers)"
// H100-NOT: s@tp
func.func @block(%x: !x, %gain: !g {tpsp.param}, %w: !w {tpsp.param},
                 %v: !v {tpsp.param}, %w1: !w {tpsp.param},
                 %v1: !v {tpsp.param}) -> !x {
  %h0 = tpsp.einsum %w, %x : (!w, !x) -> !y
  %h1 = tpsp.gelu %h0 : !y
  %m  = tpsp.einsum %v, %h1 : (!v, !y) -> !x_
  %r  = tpsp.add %x, %m : (!x, !x_) -> !x_
  %n  = tpsp.rms_norm %r, %gain : (!x_, !g) -> !x_
  %k0 = tpsp.einsum %w1, %n : (!w, !x_) -> !y
  %k1 = tpsp.gelu %k0 : !y
  %z  = tpsp.einsum %v1, %k1 : (!v, !y) -> !x_
  %o  = tpsp.add %r, %z : (!x_, !x_) -> !x
  return %o : !x
}
