// What is gathered for more than sweeps is gathered: no ring beside it.
// RUN: tpsp-opt %s --pass-pipeline='builtin.module(tpsp-decompose-early{attention=blocks},tpsp-propagate,tpsp-insert-collectives,tpsp-fuse-collectives,tpsp-partition,tpsp-sweep)' | FileCheck %s
// CHECK: tpsp.all_gather
// CHECK: tpsp.all_gather
// CHECK-NOT: tpsp.rotate
// CHECK: return
tpsp.mesh @mesh <cp = 2>
!q = tensor<1x8x2x4xf32, #tpsp.idx<b, s@cp, h, k>>
!k = tensor<1x8x2x4xf32, #tpsp.idx<b, t@cp, h, k>>
!w = tensor<1x8x2x4xf32, #tpsp.idx<b, t, h, k>>
func.func @shared(%q: !q, %k: !k, %v: !k) -> (!q, !w) {
  %y = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k"}
     : (!q, !k, !k) -> !q
  %w = tpsp.softmax %v {over = "t"} : !k -> !w
  return %y, %w : !q, !w
}
