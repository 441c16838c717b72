// The program in sharded einsum notation. Values without a name are numbered.
// RUN: tpsp-opt %s --tpsp-print-explanation -o /dev/null | FileCheck %s --strict-whitespace --match-full-lines

//      CHECK:f on dp=2, tp=4
//CHECK-EMPTY:
// CHECK-NEXT:forward
// CHECK-NEXT:  t0[b@dp, s, e@tp] = w[e@tp, d] · x[b@dp, s@tp, d]
// CHECK-NEXT:    > all_gather x[b@dp, s@tp, d] -> [b@dp, s, d]
// CHECK-NEXT:      over tp along s, 96 B per rank: because ({{.*}}print-explanation.mlir:[[@LINE+35]])
// CHECK-NEXT:  t1[b@dp, s, e@tp] = t0[b@dp, s, e@tp] + t0[b@dp, s, e@tp]
// CHECK-NEXT:  t2[b@dp, s, e@tp] = softmax(t1[b@dp, s, e@tp], causal=b, over=s, scale=0.125)
//CHECK-EMPTY:
// CHECK-NEXT:backward
// CHECK-NEXT:  t3[e@tp, d | sum@dp] = t2[b@dp, s, e@tp] · x[b@dp, s@tp, d]
// CHECK-NEXT:      x[b@dp, s, d] is there already
// CHECK-NEXT:    > all_reduce t3[e@tp, d | sum@dp] -> [e@tp, d]
// CHECK-NEXT:      over dp, 8 B per rank:  ({{.*}}print-explanation.mlir:[[@LINE+32]])
//CHECK-EMPTY:
// CHECK-NEXT:totals (bytes sent per rank)
// CHECK-NEXT:  forward   all_gather     over tp  x1  96 B
// CHECK-NEXT:  backward  all_reduce     over dp  x1   8 B
// CHECK-NEXT:  forward   of every kind  over tp  x1  96 B
// CHECK-NEXT:  backward  of every kind  over dp  x1   8 B
//CHECK-EMPTY:
// CHECK-NEXT:saved for the backward pass (bytes per rank)
// CHECK-NEXT:  x[b@dp, s, d]           x1  128 B
// CHECK-NEXT:  softmax[b@dp, s, e@tp]  x1   64 B
// CHECK-NEXT:  total                   x2  192 B
//CHECK-EMPTY:
// CHECK-NEXT:g on dp=2, tp=4
//CHECK-EMPTY:
// CHECK-NEXT:totals (bytes sent per rank)
// CHECK-NEXT:  no collectives

tpsp.mesh @mesh <dp = 2, tp = 4>

!x = tensor<2x16x2xf32, #tpsp.idx<b@dp, s@tp, d>>
!xg = tensor<2x16x2xf32, #tpsp.idx<b@dp, s, d>>
!w = tensor<4x2xf32, #tpsp.idx<e@tp, d>>
!wp = tensor<4x2xf32, #tpsp.idx<e@tp, d | sum@dp>>
!y = tensor<2x16x4xf32, #tpsp.idx<b@dp, s, e@tp>>

func.func @f(%x: !x {tpsp.name = "x"}, %w: !w {tpsp.param = "w"}) -> (!y, !w) {
  %0 = tpsp.all_gather %x ["tp"] {reason = "because", tensor = "x"} : !x -> !xg
  %1 = tpsp.einsum %w, %0 : (!w, !xg) -> !y
  %2 = tpsp.add %1, %1 : !y
  %3 = tpsp.softmax %2 {over = "s", causal = "b", scale = 0.125} : !y
  %4 = tpsp.einsum %3, %0 {tpsp.origin = #tpsp.origin<backward>} : (!y, !xg) -> !wp
  %5 = tpsp.all_reduce %4 ["dp"] {tpsp.origin = #tpsp.origin<backward>} : (!wp) -> !w
  return %3, %5 : !y, !w
}

func.func @g(%x: !x) -> !x {
  return %x : !x
}
