// Loops that share a kernel although another operation is between them.
// RUN: tpsp-opt %s --split-input-file --convert-tpsp-to-plan | FileCheck %s

!e = tensor<96x64xf32, #tpsp.idx<s, e, local>>
!w = tensor<64x32xf32, #tpsp.idx<e, k, local>>
!k = tensor<96x32xf32, #tpsp.idx<s, k, local>>

// Only %gg reads %gs. It is no larger and its operands are available, so it
// moves before the first product, and %gs is never stored.
// CHECK-LABEL: plan.program @taken_ahead
// CHECK: %[[D:.*]] = plan.buffer "input" "d"
// CHECK: %[[U:.*]] = plan.buffer "input" "u"
// CHECK: %[[S:.*]] = plan.buffer "input" "s"
// CHECK: plan.kernel @{{.*}}(%[[D]], %[[U]], %[[S]]) to(%{{[^,]*}}, %{{[^,]*}})
// CHECK-NOT: plan.kernel
// CHECK-COUNT-2: plan.matmul
// CHECK-NOT: plan.kernel
func.func @taken_ahead(%d: !e {tpsp.name = "d"}, %u: !e {tpsp.name = "u"},
                       %s: !e {tpsp.name = "s"}, %w: !w) -> (!k, !k) {
  %gs = tpsp.mul %d, %u : !e
  %gu = tpsp.mul %d, %s : !e
  %p = tpsp.einsum %gu, %w : (!e, !w) -> !k
  %t = tpsp.tanh %u : !e
  %gg = tpsp.mul %gs, %t : !e
  %q = tpsp.einsum %gg, %w : (!e, !w) -> !k
  return %p, %q : !k, !k
}

// Not if the value itself is needed, if its reader waits for a product, or if
// two readers make more than it has.
// CHECK-LABEL: plan.program @returned
// CHECK: plan.kernel
// CHECK: plan.matmul
// CHECK: plan.kernel
func.func @returned(%d: !e, %u: !e, %w: !w) -> (!k, !e, !e) {
  %a = tpsp.mul %d, %u : !e
  %b = tpsp.mul %d, %d : !e
  %p = tpsp.einsum %b, %w : (!e, !w) -> !k
  %c = tpsp.tanh %a : !e
  return %p, %a, %c : !k, !e, !e
}

// CHECK-LABEL: plan.program @waits
// CHECK: plan.kernel
// CHECK: plan.matmul
// CHECK: plan.kernel
func.func @waits(%d: !k, %u: !e, %w: !w) -> !k {
  %a = tpsp.mul %d, %d : !k
  %b = tpsp.tanh %u : !e
  %p = tpsp.einsum %b, %w : (!e, !w) -> !k
  %c = tpsp.mul %a, %p : !k
  return %c : !k
}

// CHECK-LABEL: plan.program @two_readers
// CHECK: plan.kernel
// CHECK: plan.matmul
// CHECK: plan.kernel
func.func @two_readers(%d: !e, %w: !w) -> (!k, !e, !e) {
  %a = tpsp.exp %d : !e
  %b = tpsp.mul %d, %d : !e
  %p = tpsp.einsum %b, %w : (!e, !w) -> !k
  %c = tpsp.tanh %a : !e
  %f = tpsp.sqrt %a : !e
  return %p, %c, %f : !k, !e, !e
}

// The sum over rows is in the middle of a norm's gradient and does not end it.
// It multiplies by a row's statistic itself.
// CHECK-LABEL: plan.program @sum_over_rows
// CHECK: %[[X:.*]] = plan.buffer "input" "x"
// CHECK: %[[G:.*]] = plan.buffer "input" "g"
// CHECK: plan.kernel @{{.*}}(%[[X]], %[[G]]) to(%[[R:[^,]*]], %{{[^,]*}}) {{.*}} -> (memref<96xf32>, memref<96x64xf32>)
// CHECK: plan.kernel @{{.*}}(%[[X]], %[[R]], %[[G]]) to(%{{[^,]*}}) {{.*}} -> memref<64xf32>
// CHECK-NOT: plan.kernel
// CHECK-LABEL: plan.program @unit
!row = tensor<96xf32, #tpsp.idx<s, local>>
!gain = tensor<64xf32, #tpsp.idx<e, local>>
func.func @sum_over_rows(%x: !e {tpsp.name = "x"}, %g: !e {tpsp.name = "g"}) -> (!gain, !e) {
  %sq = tpsp.square %x : !e
  %sum = tpsp.reduce %sq : !e -> !row
  %r = tpsp.rsqrt %sum : !row
  %n = tpsp.mul %x, %r : (!e, !row) -> !e
  %gain = tpsp.einsum %g, %n : (!e, !e) -> !gain
  %gn = tpsp.mul %g, %n : !e
  %inner = tpsp.reduce %gn : !e -> !row
  %back = tpsp.mul %n, %inner : (!e, !row) -> !e
  %y = tpsp.sub %g, %back : !e
  return %gain, %y : !gain, !e
}

// An axis of one rank keeps no loops apart.
// CHECK: plan.kernel @{{.*}}add_tanh
// CHECK-NOT: plan.kernel
tpsp.mesh @mesh <tp = 1 : model>
!sharded = tensor<96x64xf32, #tpsp.idx<s@tp, e, local>>
func.func @unit(%x: !e, %y: !e) -> !sharded {
  %a = tpsp.add %x, %y : !e
  %b = tpsp.rename %a : !e -> !sharded
  %c = tpsp.tanh %b : !sharded
  return %c : !sharded
}

// -----

// Unrelated operations do not share a kernel if one of them would run along its
// columns: sums of weights' gradients that are laid out along different
// indices.
// CHECK-LABEL: plan.program @layouts
// CHECK: plan.kernel {{.*}}(memref<64x96xf32>, memref<64x96xf32>) -> memref<64x96xf32>
// CHECK: plan.kernel {{.*}}(memref<96x64xf32>, memref<96x64xf32>) -> memref<96x64xf32>
// CHECK-NOT: plan.kernel
!up = tensor<96x64xf32, #tpsp.idx<e, d, local>>
!down = tensor<64x96xf32, #tpsp.idx<d, e, local>>
func.func @layouts(%a: !down, %b: !down, %c: !up, %d: !up) -> (!down, !up) {
  %x = tpsp.add %a, %b : !down
  %y = tpsp.add %c, %d : !up
  return %x, %y : !down, !up
}
