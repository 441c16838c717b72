// RUN: tpsp-opt %s --tpsp-insert-collectives | FileCheck %s

tpsp.mesh @mesh <dp = 2 : data, tp = 4 : model>

!x = tensor<8x16x32xf32, #tpsp.idx<b, s, d>>
!xs = tensor<8x16x32xf32, #tpsp.idx<b, s@tp, d>>
!h = tensor<8x16x64xf32, #tpsp.idx<b, s, e@tp>>
!w0 = tensor<64x32xf32, #tpsp.idx<e@tp, d>>
!w1 = tensor<32x64xf32, #tpsp.idx<d, e@tp>>

// Nothing where everything agrees.
// CHECK-LABEL: @column_parallel
func.func @column_parallel(%w: !w0, %x: !x) -> !h {
  // CHECK-NEXT: einsum
  // CHECK-NEXT: return
  %y = tpsp.einsum %w, %x : (!w0, !x) -> !h
  return %y : !h
}

// The result comes out partial and is completed where it is wanted.
// CHECK-LABEL: @row_parallel
func.func @row_parallel(%w: !w1, %y: !h) -> !x {
  // CHECK-NEXT: %[[P:.*]] = tpsp.einsum {{.*}} -> tensor<8x16x32xf32, #tpsp.idx<b, s, d | sum@tp>>
  // CHECK-NEXT: %[[R:.*]] = tpsp.all_reduce %[[P]] ["tp"] {reason = "@tp divides e, which is summed away", tensor = "einsum"}
  // CHECK-NEXT: return %[[R]]
  %z = tpsp.einsum %w, %y : (!w1, !h) -> !x
  return %z : !x
}

// The same program under other subscripts.
// CHECK-LABEL: @row_parallel_to_sequence
func.func @row_parallel_to_sequence(%w: !w1, %y: !h) -> !xs {
  // CHECK-NEXT: %[[P:.*]] = tpsp.einsum
  // CHECK-NEXT: %[[R:.*]] = tpsp.reduce_scatter %[[P]] ["tp"] {{.*}} -> tensor<8x16x32xf32, #tpsp.idx<b, s@tp, d>>
  // CHECK-NEXT: return %[[R]]
  %z = tpsp.einsum %w, %y : (!w1, !h) -> !xs
  return %z : !xs
}

// CHECK-LABEL: @sequence_to_column_parallel
// CHECK-SAME: %[[W:.*]]: {{.*}}, %[[X:.*]]:
func.func @sequence_to_column_parallel(%w: !w0, %x: !xs {tpsp.name = "x"}) -> !h {
  // CHECK-NEXT: %[[G:.*]] = tpsp.all_gather %[[X]] ["tp"] {reason = "@tp divides e of this einsum, which the operand lacks", tensor = "x"}
  // CHECK-NEXT: einsum %[[W]], %[[G]]
  // CHECK-NEXT: return
  %y = tpsp.einsum %w, %x : (!w0, !xs) -> !h
  return %y : !h
}

// An operand that is not sharded is cut, for free.
// CHECK-LABEL: @slice
func.func @slice(%x: !x, %y: !xs) -> !xs {
  // CHECK-NEXT: %[[S:.*]] = tpsp.slice %{{.*}} ["tp"]
  // CHECK-NEXT: add %[[S]], %{{.*}} : tensor<8x16x32xf32, #tpsp.idx<b, s@tp, d>>
  %z = tpsp.add %x, %y : (!x, !xs) -> !xs
  return %z : !xs
}

// Experts: groups to experts.
// CHECK-LABEL: @experts
func.func @experts(%w: tensor<8x32x64xf32, #tpsp.idx<e@tp, d, f>>, %x: tensor<8x4x16x32xf32, #tpsp.idx<e, g@tp, c, d>>) {
  // CHECK-NEXT: %[[A:.*]] = tpsp.all_to_all %{{.*}} ["tp"] {{.*}} -> tensor<8x4x16x32xf32, #tpsp.idx<e@tp, g, c, d>>
  // CHECK-NEXT: einsum %{{.*}}, %[[A]]
  %y = tpsp.einsum %w, %x : (tensor<8x32x64xf32, #tpsp.idx<e@tp, d, f>>, tensor<8x4x16x32xf32, #tpsp.idx<e, g@tp, c, d>>) -> tensor<8x4x16x64xf32, #tpsp.idx<e@tp, g, c, f>>
  return
}

// An index that must be whole is gathered; the row of a softmax.
// CHECK-LABEL: @whole
func.func @whole(%x: tensor<8x32xf32, #tpsp.idx<s, t@tp>>) {
  // CHECK-NEXT: %[[G:.*]] = tpsp.all_gather %{{.*}} ["tp"]
  // CHECK-NEXT: softmax %[[G]]
  %y = tpsp.softmax %x {over = "t"} : tensor<8x32xf32, #tpsp.idx<s, t@tp>> -> tensor<8x32xf32, #tpsp.idx<s, t>>
  return
}

// DDP+CP: one reduction over both axes.
// CHECK-LABEL: @both_axes
func.func @both_axes(%g: tensor<8x16x64xf32, #tpsp.idx<b@dp, s@tp, e>>, %x: tensor<8x16x32xf32, #tpsp.idx<b@dp, s@tp, d>>) {
  // CHECK-NEXT: einsum
  // CHECK-NEXT: all_reduce %{{.*}} ["dp", "tp"]
  // CHECK-NEXT: return
  %w = tpsp.einsum %g, %x : (tensor<8x16x64xf32, #tpsp.idx<b@dp, s@tp, e>>, tensor<8x16x32xf32, #tpsp.idx<b@dp, s@tp, d>>) -> tensor<64x32xf32, #tpsp.idx<e, d>>
  return
}

// Unplaced results come out as they do, so partials are summed before they are
// reduced, once.
// CHECK-LABEL: @sum_of_partials
func.func @sum_of_partials(%w: !w1, %y: !h, %r: !xs) -> !xs {
  // CHECK: %[[A:.*]] = tpsp.einsum {{.*}} | sum@tp>>
  // CHECK-NEXT: %[[B:.*]] = tpsp.einsum {{.*}} | sum@tp>>
  // CHECK-NEXT: %[[S:.*]] = tpsp.add %[[A]], %[[B]] : tensor<8x16x32xf32, #tpsp.idx<b, s, d | sum@tp>>
  // CHECK-NEXT: %[[R:.*]] = tpsp.reduce_scatter %[[S]] ["tp"]
  // CHECK-NEXT: add {{.*}}%[[R]]
  // CHECK-NOT: reduce_scatter
  %a = tpsp.einsum %w, %y : (!w1, !h) -> tensor<8x16x32xf32, #tpsp.idx<b, s, d, ?>>
  %b = tpsp.einsum %w, %y : (!w1, !h) -> tensor<8x16x32xf32, #tpsp.idx<b, s, d, ?>>
  %z = tpsp.add %a, %r, %b : (tensor<8x16x32xf32, #tpsp.idx<b, s, d, ?>>, !xs, tensor<8x16x32xf32, #tpsp.idx<b, s, d, ?>>) -> !xs
  return %z : !xs
}

// Collectives of the backward pass are marked as it is.
// CHECK-LABEL: @backward_mark
func.func @backward_mark(%x: !xs) -> !x {
  // CHECK: all_gather {{.*}} tpsp.origin = #tpsp.origin<backward>
  %y = tpsp.reshard %x {tpsp.origin = #tpsp.origin<backward>} : !xs -> !x
  return %y : !x
}
