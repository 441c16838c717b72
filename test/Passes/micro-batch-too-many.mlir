// More micro-batches than there are positions, and than numbers of an option.
// RUN: not tpsp-opt %s --tpsp-micro-batch=micro-batches=1000000000 2>&1 | FileCheck %s
// RUN: not tpsp-opt %s --tpsp-micro-batch=micro-batches=9223372036854775807 2>&1 | FileCheck %s --check-prefix=MOST
// MOST: for the --micro-batches option: expected a number of at most 1e9, not '9223372036854775807'
// CHECK: error: {{.*}}index 'b' of extent 8, {{.*}}; 2 micro-batches would
tpsp.mesh @mesh <dp = 4>
!x = tensor<8x4xf32, #tpsp.idx<b@dp, d>>
func.func @f(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}
