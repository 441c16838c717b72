// pytorch/pytorch#175867: a gradient that was wanted Partial was reduced
// needlessly, because the input was declared replicated.
//
// Here the contributions to a gradient stay partial until they are added: three
// column-parallel products of one input, one reduction backward.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: tpsp-run %s --mesh tp=2 --grad --verify --quiet
// RUN: tpsp-run %s --mesh tp=8 --dtype bf16 --grad --verify --quiet

// CHECK: phase kind axes
// CHECK-NEXT: backward all_reduce tp 1.1 KiB g[x]
// CHECK-EMPTY:
// CHECK: all within tolerance

tpsp.mesh @mesh <tp = 4 : model>

!x = tensor<16x12xf32, #tpsp.idx<s, d>>
!w = tensor<24x12xf32, #tpsp.idx<e@tp, d>>
!y = tensor<16x24xf32, #tpsp.idx<s, e@tp>>
func.func @qkv(%x: !x, %wq: !w {tpsp.param = "wq"}, %wk: !w {tpsp.param = "wk"},
               %wv: !w {tpsp.param = "wv"}) -> (!y, !y, !y) {
  %q = tpsp.einsum %wq, %x : (!w, !x) -> !y
  %k = tpsp.einsum %wk, %x : (!w, !x) -> !y
  %v = tpsp.einsum %wv, %x : (!w, !x) -> !y
  return %q, %k, %v : !y, !y, !y
}
