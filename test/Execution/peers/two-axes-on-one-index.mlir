// pytorch/pytorch#186282: context and sequence parallelism on one dimension gave
// wrong shapes or wrong gradients.
//
// Here several axes on one index are major to minor. The sequence is on cp and
// tp; the products gather it over tp alone, and gradients follow.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: tpsp-run %s --mesh cp=4,tp=2 --dtype bf16 --grad --verify --quiet
// RUN: sed 's/s@cp@tp/s@tp@cp/' %s > %t.mlir
// RUN: tpsp-run %t.mlir --grad --verify --quiet
// RUN: not tpsp-run %s --mesh cp=3,tp=4 2>&1 | FileCheck %s --check-prefix=UNEVEN

// CHECK: phase kind axes
// CHECK-NEXT: forward all_gather tp s 384 B n
// CHECK-NEXT: forward reduce_scatter tp s 384 B z
// CHECK-NEXT: backward all_gather tp s 384 B g[z]
// CHECK-NEXT: backward all_gather tp s 384 B n
// CHECK-NEXT: backward all_reduce cp 1.1 KiB g[w1], g[w0]
// CHECK-NEXT: backward reduce_scatter tp s 384 B g[n]
// CHECK-NEXT: backward all_reduce cp,tp 72 B g[g]
// CHECK-EMPTY:
// CHECK: all within tolerance

tpsp.mesh @mesh <cp = 2 : data, tp = 2 : model>

!x  = tensor<2x16x12xf32, #tpsp.idx<b, s@cp@tp, d>>
!y  = tensor<2x16x24xf32, #tpsp.idx<b, s, e, ?>>
!g  = tensor<12xf32, #tpsp.idx<d>>
!x_ = tensor<2x16x12xf32, #tpsp.idx<b, s, d, ?>>
!w0 = tensor<24x12xf32, #tpsp.idx<e@tp, d>>
!w1 = tensor<12x24xf32, #tpsp.idx<d, e@tp>>
func.func @mlp(%x: !x, %g: !g {tpsp.param = "g"}, %w0: !w0 {tpsp.param = "w0"},
               %w1: !w1 {tpsp.param = "w1"}) -> !x {
  %n = tpsp.rms_norm %x, %g : (!x, !g) -> !x_
  %y = tpsp.einsum %w0, %n : (!w0, !x_) -> !y
  %v = tpsp.gelu %y : !y
  %z = tpsp.einsum %w1, %v : (!w1, !y) -> !x
  return %z : !x
}
// UNEVEN: error: {{.*}}index 's' of operand #0 has extent 16, which its axes (cp, tp: 12 ranks) do not divide; nearest extents that work: 12 and 24
