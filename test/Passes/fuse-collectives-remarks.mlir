// An all-reduce and a slice stay, because the operation between is done whole.
// RUN: tpsp-opt %s --tpsp-fuse-collectives --remarks-filter='tpsp-fuse.*' -o /dev/null 2>&1 | FileCheck %s

tpsp.mesh @mesh <tp = 4>

!p = tensor<8x16xf32, #tpsp.idx<s, d | sum@tp>>
!x = tensor<8x16xf32, #tpsp.idx<s, d>>
!xs = tensor<8x16xf32, #tpsp.idx<s@tp, d>>

// CHECK: [[@LINE+4]]:8: remark: [Missed] all-reduce-and-slice | Category:tpsp-fuse-collectives | Reason="a sum is completed on every rank and divided behind tpsp.gelu, which is done whole;
func.func @between(%p: !p) -> !xs {
  %0 = tpsp.all_reduce %p ["tp"] : (!p) -> !x
  %1 = tpsp.gelu %0 : !x
  %2 = tpsp.slice %1 ["tp"] : !x -> !xs
  return %2 : !xs
}

// Another use needs the whole sum.
// CHECK-NOT: remark
func.func @used_twice(%p: !p) -> (!x, !xs) {
  %0 = tpsp.all_reduce %p ["tp"] : (!p) -> !x
  %1 = tpsp.gelu %0 : !x
  %2 = tpsp.slice %1 ["tp"] : !x -> !xs
  return %0, %2 : !x, !xs
}
