// A parameter that is scaled or converted first still counts as a parameter. On a
// data axis it is gathered, in the type of its use, and its gradient is
// scattered.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s

// CHECK: forward all_gather fsdp e 8.0 KiB h
// CHECK: backward reduce_scatter fsdp e {{.*}} g[h]
// CHECK: all within tolerance

tpsp.mesh @mesh <fsdp = 2 : data>
!x  = tensor<8x16x64xbf16, #tpsp.idx<b@fsdp, s, d>>
!m  = tensor<8x16x128xbf16, #tpsp.idx<b@fsdp, s, e>>
!w  = tensor<128x64xf32, #tpsp.idx<e@fsdp, d>>
!w_ = tensor<128x64xf32, #tpsp.idx<e, d, ?>>
!h_ = tensor<128x64xbf16, #tpsp.idx<e, d, ?>>
!m_ = tensor<8x16x128xbf16, #tpsp.idx<b, s, e, ?>>
func.func @f(%x: !x {tpsp.name = "x"}, %w: !w {tpsp.param = "w"}) -> !m {
  %u = tpsp.scale %w {factor = 0.5 : f64} : !w -> !w_
  %h = tpsp.convert %u : !w_ -> !h_
  %y = tpsp.einsum %x, %h : (!x, !h_) -> !m_
  %z = tpsp.silu %y : !m_ -> !m
  return %z : !m
}
