// pytorch/pytorch#172601: a truth table over operations found 43 rules for
// Partial tensors missing.
//
// Here every operation says how it is linear, and that is the rule. Linear
// operations pass a partial tensor on, so that there is one reduction at the
// end. Backward, the gradients of m and x read a partial tensor and are reduced
// once they are made. (For others see pytorch-172601-partial-rules-invalid.)
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: tpsp-run %s --mesh tp=2 --grad --verify --quiet
// RUN: tpsp-run %s --mesh tp=8 --dtype bf16 --grad --verify --quiet

// CHECK: phase kind axes
// CHECK-NEXT: forward all_reduce tp 360 B z
// CHECK-NEXT: backward all_reduce tp 936 B g[x], g[m]
// CHECK-EMPTY:
// CHECK: all within tolerance

tpsp.mesh @mesh <tp = 4 : model>

!v  = tensor<16x24xf32, #tpsp.idx<s, e@tp>>
!w  = tensor<12x24xf32, #tpsp.idx<d, e@tp>>
!p  = tensor<16x12xf32, #tpsp.idx<s, d | sum@tp>>
!hk = tensor<16x3x4xf32, #tpsp.idx<s, h, k | sum@tp>>
!fd = tensor<16x12xf32, #tpsp.idx<s, f | sum@tp>>
!m  = tensor<12x12xf32, #tpsp.idx<d, f>>
!x  = tensor<12xf32, #tpsp.idx<f>>
!r  = tensor<12xf32, #tpsp.idx<f | sum@tp>>
!q  = tensor<5x12xf32, #tpsp.idx<c, f | sum@tp>>
!z  = tensor<5x12xf32, #tpsp.idx<c, f>>

func.func @linear(%v: !v, %w: !w {tpsp.param = "w"}, %m: !m, %x: !x) -> !z {
  %0 = tpsp.einsum %w, %v : (!w, !v) -> !p
  %1 = tpsp.neg %0 : !p
  %2 = tpsp.scale %1 {factor = 3.0} : !p
  %3 = tpsp.add %0, %2, %1 : !p
  %4 = tpsp.sub %3, %1 : !p
  %5 = tpsp.split %4 : !p -> !hk
  %6 = tpsp.rope %5 {position = "s", feature = "k"} : !hk
  %7 = tpsp.merge %6 : !hk -> !p
  %8 = tpsp.einsum %m, %7 : (!m, !p) -> !fd
  %9 = tpsp.mul %8, %x : (!fd, !x) -> !fd
  %a = tpsp.reduce %9 : !fd -> !r
  %b = tpsp.broadcast %a : !r -> !q
  %z = tpsp.reshard %b : !q -> !z
  return %z : !z
}
