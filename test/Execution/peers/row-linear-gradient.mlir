// huggingface/nanotron#46, #172: the asynchronous backward of the row-parallel
// linear gave every rank the same gradient of its input; at tp=4 a quarter of it
// was right, and no test checked.
//
// Here the input's gradient has the input's subscripts, e@tp: the gradient of
// the result is gathered once, and each rank makes its own part of e.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: tpsp-run %s --mesh tp=2 --grad --verify --quiet
// RUN: tpsp-run %s --mesh tp=8 --dtype bf16 --grad --verify --quiet

// CHECK: phase kind axes
// CHECK-NEXT: forward reduce_scatter tp s 1.1 KiB z
// CHECK-NEXT: backward all_gather tp s 1.1 KiB g[z]
// CHECK-EMPTY:
// CHECK: all within tolerance

tpsp.mesh @mesh <tp = 4 : model>

!v = tensor<2x16x24xf32, #tpsp.idx<b, s, e@tp>>
!w = tensor<12x24xf32, #tpsp.idx<d, e@tp>>
!z = tensor<2x16x12xf32, #tpsp.idx<b, s@tp, d>>
func.func @row_linear(%v: !v, %w: !w {tpsp.param = "w"}) -> !z {
  %z = tpsp.einsum %w, %v : (!w, !v) -> !z
  return %z : !z
}
