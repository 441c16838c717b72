// Too few operands and an axis on two indices, as while a line is typed. The
// message names ways out of the conflict, without prices.
// RUN: not tpsp-opt %s 2>&1 | FileCheck %s
// RUN: sed 's/layer_norm %x/rms_norm %x/' %s | not tpsp-opt 2>&1 | FileCheck %s
// RUN: sed 's/layer_norm %x : (!x)/layer_norm : ()/' %s | not tpsp-opt 2>&1 | FileCheck %s
// RUN: sed 's/%0 = tpsp.layer_norm %x : (!x) -> !x/%0:3 = tpsp.attention_gradient %x {query = "s", key = "t", feature = "d"} : (!x) -> (!x, !x, !x)/' %s | not tpsp-opt 2>&1 | FileCheck %s
// CHECK: axis @tp is on both 's' and 'd'
tpsp.mesh @mesh <tp = 2>
!x = tensor<4x8xf32, #tpsp.idx<s@tp, d@tp>>
func.func @f(%x: !x) {
  %0 = tpsp.layer_norm %x : (!x) -> !x
  return
}
