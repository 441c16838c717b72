// Results and arguments that are sums over ranks.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --function result --grad --verify | FileCheck %s --check-prefix=RESULT
// RUN: tpsp-run %s --function argument --grad --verify | FileCheck %s --check-prefix=ARGUMENT
// RUN: tpsp-run %s --function through --grad --verify | FileCheck %s --check-prefix=THROUGH
// RUN: tpsp-run %s --function result --mesh dp=3,tp=4 --dtype bf16 --grad --verify --quiet

tpsp.mesh @mesh <dp = 2 : data, tp = 2 : model>

!x = tensor<6x8xf32, #tpsp.idx<s@dp, d@tp>>
!w = tensor<5x8xf32, #tpsp.idx<e, d@tp>>
!y = tensor<6x5xf32, #tpsp.idx<s@dp, e>>
!p = tensor<6x5xf32, #tpsp.idx<s@dp, e | sum@tp>>

// The sum is left to whoever takes the result.
// RESULT-NOT: forward
// RESULT: all within tolerance
func.func @result(%x: !x, %w: !w) -> !p {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !p
  return %y : !p
}

// ARGUMENT: forward all_reduce tp
func.func @argument(%p: !p) -> !y {
  %y = tpsp.reshard %p : !p -> !y
  %z = tpsp.tanh %y : !y
  return %z : !y
}

// A linear operation passes the sum on.
// THROUGH: No collectives.
func.func @through(%p: !p) -> !p {
  %y = tpsp.scale %p {factor = 3.0} : !p
  return %y : !p
}
