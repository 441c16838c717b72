// An argument of integers is below the smallest extent that it selects along. A
// bound that is written stays.
// RUN: tpsp-opt %s --tpsp-bound-integers | FileCheck %s

tpsp.mesh @mesh <tp = 2>

!ids = tensor<4xi32, #tpsp.idx<s>>
!table = tensor<11x6xf32, #tpsp.idx<v, d>>
!small = tensor<9x6xf32, #tpsp.idx<v, d>>
!x = tensor<4x6xf32, #tpsp.idx<s, d>>

// CHECK: func.func @looked_up(%{{.*}}: tensor<4xi32, #tpsp.idx<s>> {tpsp.below = 9 : i64}, %{{.*}}: tensor<4xi32, #tpsp.idx<s>> {tpsp.below = 5 : i64}
func.func @looked_up(%ids: !ids, %given: !ids {tpsp.below = 5 : i64}, %table: !table, %small: !small) -> (!x, !x, !x) {
  %a = tpsp.one_hot_einsum %ids, %table {indices = ["v"]} : (!ids, !table) -> !x
  %b = tpsp.one_hot_einsum %ids, %small {indices = ["v"]} : (!ids, !small) -> !x
  %c = tpsp.one_hot_einsum %given, %table {indices = ["v"]} : (!ids, !table) -> !x
  return %a, %b, %c : !x, !x, !x
}
