// RUN: tpsp-opt %s --verify-roundtrip | FileCheck %s

tpsp.mesh @mesh <dp = 2>

!x = tensor<2x4x8xf32, #tpsp.idx<b@dp, n, s>>
!y = tensor<2x8xf32, #tpsp.idx<b@dp, s>>
!z = tensor<2x2x8xf32, #tpsp.idx<b@dp, n, s>>

// CHECK-LABEL: @blocks
func.func @blocks(%x: !x) -> !z {
  // CHECK: tpsp.take %{{.*}} {at = 3 : i64, index = "n"} : tensor<2x4x8xf32, #tpsp.idx<b@dp, n, s>> -> tensor<2x8xf32, #tpsp.idx<b@dp, s>>
  %a = tpsp.take %x {index = "n", at = 3} : !x -> !y
  %b = tpsp.take %x {index = "n", at = 0} : !x -> !y
  // CHECK: tpsp.stack %{{.*}}, %{{.*}} {index = "n"} : tensor<2x8xf32, #tpsp.idx<b@dp, s>> -> tensor<2x2x8xf32, #tpsp.idx<b@dp, n, s>>
  %z = tpsp.stack %a, %b {index = "n"} : !y -> !z
  return %z : !z
}
