// More micro-batches than there are positions, and than numbers.
// RUN: not tpsp-opt %s --tpsp-micro-batch=micro-batches=4611686018427387904 2>&1 | FileCheck %s
// RUN: not tpsp-opt %s --tpsp-micro-batch=micro-batches=9223372036854775807 2>&1 | FileCheck %s
// CHECK: error: {{.*}}index 'b' of extent 8, {{.*}}; 2 micro-batches would
tpsp.mesh @mesh <dp = 4>
!x = tensor<8x4xf32, #tpsp.idx<b@dp, d>>
func.func @f(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}
