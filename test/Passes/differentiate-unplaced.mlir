// RUN: tpsp-opt %s --tpsp-differentiate | FileCheck %s
// RUN: tpsp-opt %s --tpsp-propagate --tpsp-differentiate -o /dev/null

// The cotangent of an unplaced result is an argument of the same type: it stays
// as the caller has it, and is moved for each use.

tpsp.mesh @mesh <b = 1, tp = 2 : model>
!x = tensor<2x8xf64, #tpsp.idx<m@b, u@tp>>
!y = tensor<2x8xf64, #tpsp.idx<m, u, ?>>

// CHECK-LABEL: func.func @f_grad
// CHECK-SAME:    %[[CT:[a-z0-9]+]]: tensor<2x8xf64, #tpsp.idx<m, u, ?>> {tpsp.cotangent_of = 0 : i64
// CHECK:         tpsp.reshard %[[CT]] {{.*}} -> tensor<2x8xf64, #tpsp.idx<m@b, u@tp>>
// CHECK:         tpsp.causal_mask
// CHECK:         tpsp.add %[[CT]],
func.func @f(%x: !x {tpsp.param = "x"}) -> !y {
  %m = tpsp.causal_mask %x {fill = 0.0 : f64, key = "m", query = "u"} : !x
  %y = tpsp.add %m, %x : (!x, !x) -> !y
  return %y : !y
}
