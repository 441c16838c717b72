// A dropout is a mask of bytes, with its seed, and the mask's application, with
// 1 / (1 - rate).
// RUN: tpsp-opt %s --tpsp-keep-masks | FileCheck %s --implicit-check-not="tpsp.dropout %"

tpsp.mesh @mesh <tp = 2>

!x = tensor<4x6xf32, #tpsp.idx<s, d>>

// CHECK-LABEL: @drops
// CHECK-SAME: %[[X:[a-z0-9]+]]:
func.func @drops(%x: !x) -> !x {
  // CHECK: %[[M:.*]] = tpsp.dropout_mask {{.*}}{rate = 2.500000e-01 : f64, seed = 7 : i64} : () -> tensor<4x6xi8, #tpsp.idx<s, d>>
  // CHECK: %[[Y:.*]] = tpsp.apply_mask %[[X]], %[[M]] {scale = 1.3333333333333333 : f64}
  // CHECK: return %[[Y]]
  %y = tpsp.dropout %x {rate = 0.25, seed = 7} : !x
  return %y : !x
}
