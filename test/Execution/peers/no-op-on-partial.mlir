// pytorch/pytorch#172932: leaving and entering a Partial placement is nothing
// forward, and yet changed the gradients.
//
// Here a tensor's gradient is whole where the tensor is partial, since every
// summand has the gradient of the sum: views and requests that keep the summands
// keep the gradient, and both functions have the same collective and, backward,
// none.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --function plain --grad --verify | FileCheck %s
// RUN: tpsp-run %s --function through --grad --verify | FileCheck %s
// RUN: tpsp-run %s --function through --mesh tp=8 --dtype bf16 --grad --verify --quiet

// CHECK: phase kind axes
// CHECK-NEXT: forward all_reduce tp 1.1 KiB
// CHECK-EMPTY:
// CHECK: all within tolerance

tpsp.mesh @mesh <tp = 4 : model>

!v = tensor<16x24xf32, #tpsp.idx<s, e@tp>>
!w = tensor<12x24xf32, #tpsp.idx<d, e@tp>>
!p = tensor<16x12xf32, #tpsp.idx<s, d | sum@tp>>
!q = tensor<16x12xf32, #tpsp.idx<s, f | sum@tp>>
!z = tensor<16x12xf32, #tpsp.idx<s, d>>

func.func @plain(%v: !v, %w: !w {tpsp.param = "w"}) -> !z {
  %0 = tpsp.einsum %w, %v : (!w, !v) -> !p
  %z = tpsp.reshard %0 : !p -> !z
  return %z : !z
}

func.func @through(%v: !v, %w: !w {tpsp.param = "w"}) -> !z {
  %0 = tpsp.einsum %w, %v : (!w, !v) -> !p
  %1 = tpsp.rename %0 : !p -> !q
  %2 = tpsp.rename %1 : !q -> !p
  %3 = tpsp.reshard %2 : !p -> !p
  %z = tpsp.reshard %3 : !p -> !z
  return %z : !z
}
