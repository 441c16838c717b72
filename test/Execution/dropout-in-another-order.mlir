// Positions in the result decide which elements a dropout zeroes. The gradient
// of an operand with its indices in another order zeroes the same.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify --quiet
// RUN: tpsp-run %s --grad --verify --quiet --keep-masks
// RUN: tpsp-opt %s --tpsp-collective-pipeline=grad=true | FileCheck %s

tpsp.mesh @mesh <a = 2>
!x = tensor<2x4x8xf32, #tpsp.idx<g, f@a, e>>
!y = tensor<8x2x4xf32, #tpsp.idx<e, g, f@a>>

// CHECK: func.func @f_grad(%{{.*}}, %[[G:[^:]*]]: tensor<8x2x4xf32
// CHECK: %[[DROPPED:.*]] = tpsp.dropout %[[G]] {{.*}} : tensor<8x2x4xf32
// CHECK: tpsp.reduce %[[DROPPED]]
func.func @f(%x: !x {tpsp.name = "x"}) -> !y {
  %y = tpsp.dropout %x {rate = 0.25, seed = 1} : (!x) -> !y
  return %y : !y
}
