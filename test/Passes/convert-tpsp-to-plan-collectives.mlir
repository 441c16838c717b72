// Each collective becomes its command, with the row of the ledger.
// RUN: tpsp-opt %s --convert-tpsp-to-plan --split-input-file | FileCheck %s

// Tensors are seen as [outer, chunk]: a part of s is two pieces, one per b.
// CHECK-LABEL: plan.program @shards attributes {axes = ["dp", "tp"], sizes = array<i64: 2, 4>}
// CHECK: plan.all_gather
// CHECK-SAME: axes = array<i64: 1>, chunk = 6 : i64
// CHECK-SAME: ledger = #plan.ledger<kind = "all_gather", axes = ["tp"], index = "s", phase = "forward", bytes = 144, group = 4, tensor = "x", reason = "why">
// CHECK-SAME: outer = 2 : i64} : memref<2x2x3xf32> to memref<2x8x3xf32>
// CHECK: plan.slice
// CHECK-SAME: axes = array<i64: 0>, chunk = 24 : i64
// CHECK-SAME: outer = 1 : i64} : memref<2x8x3xf32> to memref<1x8x3xf32>
tpsp.mesh @mesh <dp = 2, tp = 4>
!part  = tensor<2x2x3xf32, #tpsp.idx<b, s@tp, d, local>>
!whole = tensor<2x8x3xf32, #tpsp.idx<b, s, d, local>>
!other = tensor<1x8x3xf32, #tpsp.idx<b@dp, s, d, local>>
func.func @shards(%x: !part) -> !other {
  %w = tpsp.all_gather %x ["tp"] {reason = "why", tensor = "x"} : !part -> !whole
  %o = tpsp.slice %w ["dp"] : !whole -> !other
  return %o : !other
}

// -----

// A reduction has a kind; 1 is the maximum.
// CHECK-LABEL: plan.program @reductions
// CHECK: plan.reduce_scatter
// CHECK-SAME: chunk = 3 : i64
// CHECK-NOT: reduction
// CHECK-SAME: outer = 1
// CHECK: plan.all_reduce(%{{.+}}, %{{.+}}) to(%{{.+}}, %{{.+}}) {axes = array<i64: 0>, ledger = {{.*}}phase = "backward"
// CHECK: plan.all_reduce{{.*}}reduction = 1 : i64
tpsp.mesh @mesh <tp = 4>
!sum   = tensor<4x3xf32, #tpsp.idx<s, d, local | sum@tp>>
!part  = tensor<1x3xf32, #tpsp.idx<s@tp, d, local>>
!whole = tensor<4x3xf32, #tpsp.idx<s, d, local>>
!max   = tensor<4x3xf32, #tpsp.idx<s, d, local | max@tp>>
func.func @reductions(%x: !sum, %y: !max) -> (!part, !whole, !whole, !whole) {
  %p = tpsp.reduce_scatter %x ["tp"] : !sum -> !part
  %a:2 = tpsp.all_reduce %x, %x ["tp"] {tpsp.origin = #tpsp.origin<backward>} : (!sum, !sum) -> (!whole, !whole)
  %m = tpsp.all_reduce %y ["tp"] : (!max) -> !whole
  return %p, %a#0, %a#1, %m : !part, !whole, !whole, !whole
}

// -----

// Outside, the gathered extent of one rank, between, the scattered one, inside.
// CHECK-LABEL: plan.program @all_to_all
// CHECK: plan.all_to_all
// CHECK-SAME: extents = array<i64: 2, 3, 5, 8, 7>, gather_first = false
// CHECK-SAME: index = "h -> s"
// CHECK: plan.all_to_all
// CHECK-SAME: extents = array<i64: 2, 8, 5, 3, 7>, gather_first = true
// CHECK-SAME: index = "s -> h"
tpsp.mesh @mesh <tp = 4>
!heads = tensor<2x32x5x3x7xf32, #tpsp.idx<b, s, n, h@tp, k, local>>
!seq   = tensor<2x8x5x12x7xf32, #tpsp.idx<b, s@tp, n, h, k, local>>
func.func @all_to_all(%x: !heads) -> !heads {
  %s = tpsp.all_to_all %x ["tp"] : !heads -> !seq
  %h = tpsp.all_to_all %s ["tp"] : !seq -> !heads
  return %h : !heads
}

// -----

// Rank (a, b) holds block 3a + b and is to hold block 2b + a. The group counts by
// the new order: rank 1 of it, (a, b) = (1, 0), wants block 1, which (0, 1) has,
// rank 2.
// CHECK-LABEL: plan.program @permute
// CHECK: plan.permute
// CHECK-SAME: axes = array<i64: 1, 0>, from = array<i64: 0, 2, 4, 1, 3, 5>
tpsp.mesh @mesh <a = 2, b = 3>
!ab = tensor<1xf32, #tpsp.idx<n@a@b, local>>
!ba = tensor<1xf32, #tpsp.idx<n@b@a, local>>
func.func @permute(%x: !ab) -> !ba {
  %y = tpsp.permute %x ["b", "a"] : !ab -> !ba
  return %y : !ba
}
