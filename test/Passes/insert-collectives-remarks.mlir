// Every collective is a remark, and so is a placement that would send fewer
// bytes: with few tokens FSDP's gathered weight is larger than its activations.

// RUN: tpsp-opt %s --tpsp-insert-collectives --remarks-filter='tpsp-.*' -o /dev/null 2>&1 | FileCheck %s

tpsp.mesh @mesh <fsdp = 4 : data>

!x = tensor<4x256xf32, #tpsp.idx<b@fsdp, d>>
!w = tensor<1024x256xf32, #tpsp.idx<e@fsdp, d>>
!y = tensor<4x1024xf32, #tpsp.idx<b@fsdp, e>>

// CHECK: [[@LINE+5]]:8: remark: [Missed] fewer-bytes | Category:tpsp-insert-collectives
// CHECK-SAME: 2 collectives instead of 1
// Gathering x (3072) and moving y (3072) would do.
// CHECK-SAME: bytes=786432, fewest_bytes=6144
func.func @few_tokens(%x: !x, %w: !w {tpsp.param}) -> !y {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !y
  return %y : !y
}
// CHECK: remark: [Passed] all_gather | Category:tpsp-insert-collectives | Reason="@fsdp divides b of this einsum, which the operand lacks"
