// Collectives name the arguments whose gradients they move, if nothing else
// depends on the moved tensors. All names are alike here.
// RUN: tpsp-opt %s --tpsp-note-gradients --verify-roundtrip | FileCheck %s
// RUN: tpsp-opt %s --tpsp-note-gradients --tpsp-bucket-collectives | FileCheck %s --check-prefix=BUCKETS
// RUN: tpsp-opt %s --tpsp-note-gradients --tpsp-bucket-collectives --tpsp-partition --tpsp-decompose-late --convert-tpsp-to-plan | FileCheck %s --check-prefix=PLAN

tpsp.mesh @mesh <dp = 4 : data>

!b = tensor<8xf32, #tpsp.idx<q>>
!b_ = tensor<8xf32, #tpsp.idx<q | sum@dp>>
!h = tensor<2x4xf32, #tpsp.idx<g, k>>
!h_ = tensor<2x4xf32, #tpsp.idx<g, k | sum@dp>>
!x = tensor<16x8xf32, #tpsp.idx<b@dp, q>>

// Through a view, and then through products with tensors that are no inputs.
// CHECK-LABEL: @linear_grad
// CHECK: tpsp.all_reduce {{.*}} {gradients = array<i64: 1>, tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.all_reduce {{.*}} {gradients = array<i64: 2>, tpsp.origin = #tpsp.origin<backward>}
func.func @linear_grad(%x: !x, %w: !b {tpsp.param}, %u: !b {tpsp.param},
                       %part: !h_, %other: !b_)
    -> (!b {tpsp.gradient_of = 1 : i64}, !b {tpsp.gradient_of = 2 : i64}) {
  %0 = tpsp.all_reduce %part ["dp"] {tpsp.origin = #tpsp.origin<backward>} : (!h_) -> !h
  %1 = tpsp.merge %0 {tpsp.origin = #tpsp.origin<backward>} : !h -> !b
  %2 = tpsp.all_reduce %other ["dp"] {tpsp.origin = #tpsp.origin<backward>} : (!b_) -> !b
  %3 = tpsp.mul %2, %w {tpsp.origin = #tpsp.origin<backward>} : (!b, !b) -> !b
  return %1, %3 : !b, !b
}

// None for operations that are not linear, tensors that differ between
// micro-batches, inputs, and tensors with other uses.
// CHECK-LABEL: @others_grad
// CHECK-NOT: {gradients
// CHECK: return
func.func @others_grad(%x: !b, %w: !b {tpsp.param}, %u: !b {tpsp.param},
                       %v: !b {tpsp.param}, %p0: !b_, %p1: !b_, %p2: !b_,
                       %p3: !b_)
    -> (!b {tpsp.gradient_of = 1 : i64}, !b {tpsp.gradient_of = 2 : i64},
        !b {tpsp.gradient_of = 0 : i64}, !b {tpsp.gradient_of = 3 : i64}, !b) {
  %0 = tpsp.all_reduce %p0 ["dp"] {tpsp.origin = #tpsp.origin<backward>, tensor = "g[w]"} : (!b_) -> !b
  %1 = tpsp.exp %0 {tpsp.origin = #tpsp.origin<backward>} : !b
  %2 = tpsp.all_reduce %p1 ["dp"] {tpsp.origin = #tpsp.origin<backward>, tensor = "g[u]"} : (!b_) -> !b
  %3 = tpsp.mul %2, %x {tpsp.origin = #tpsp.origin<backward>} : (!b, !b) -> !b
  %4 = tpsp.all_reduce %p2 ["dp"] {tpsp.origin = #tpsp.origin<backward>, tensor = "g[x]"} : (!b_) -> !b
  %5 = tpsp.all_reduce %p3 ["dp"] {tpsp.origin = #tpsp.origin<backward>, tensor = "g[v]"} : (!b_) -> !b
  return %1, %3, %4, %5, %5 : !b, !b, !b, !b, !b
}

// One bucket has gradients, and one has tensors returned in every micro-batch.
// Its row has the arguments of all its tensors; a sum of two has both.
// BUCKETS-LABEL: @buckets_grad
// BUCKETS: tpsp.all_reduce %arg3, %arg5 ["dp"] {gradients = array<i64: 1, 2>
// BUCKETS: tpsp.all_reduce %arg4, %arg6 ["dp"] {tpsp.origin = #tpsp.origin<backward>
// PLAN-LABEL: plan.program @buckets_grad
// PLAN: plan.buffer "gradient" "result0" {number
// PLAN: plan.all_reduce{{.*}}gradients = [1, 2]
func.func @buckets_grad(%x: !b, %w: !b {tpsp.param}, %u: !b {tpsp.param},
                        %p0: !b_, %p1: !b_, %p2: !b_, %p3: !b_)
    -> (!b {tpsp.gradient_of = 1 : i64}, !b {tpsp.gradient_of = 0 : i64},
        !b {tpsp.gradient_of = 2 : i64}, !b) {
  %0 = tpsp.all_reduce %p0 ["dp"] {tpsp.origin = #tpsp.origin<backward>} : (!b_) -> !b
  %1 = tpsp.all_reduce %p1 ["dp"] {tpsp.origin = #tpsp.origin<backward>} : (!b_) -> !b
  %2 = tpsp.all_reduce %p2 ["dp"] {tpsp.origin = #tpsp.origin<backward>} : (!b_) -> !b
  %3 = tpsp.all_reduce %p3 ["dp"] {tpsp.origin = #tpsp.origin<backward>} : (!b_) -> !b
  return %0, %1, %2, %3 : !b, !b, !b, !b
}

// With an update, which reads gradients: they are marked, and collectives that
// move them further have their numbers.
// CHECK-LABEL: @updated_grad
// CHECK: tpsp.add {{.*}} {tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.reduce_scatter {{.*}} {gradients = array<i64: 0, 1>
// CHECK-NOT: tpsp.gradients
// PLAN-LABEL: plan.program @updated_grad
// PLAN: plan.buffer "temporary" {for_gradient}
func.func @updated_grad(%w: !b {tpsp.param}, %u: !b {tpsp.param}, %p0: !b_,
                        %p1: !b_)
    -> (tensor<8xf32, #tpsp.idx<q@dp>>, tensor<8xf32, #tpsp.idx<q@dp>>) {
  %0 = tpsp.add %p0, %p1 {tpsp.origin = #tpsp.origin<backward>, tpsp.gradients = array<i64: 0, 1>} : !b_
  %1 = tpsp.reduce_scatter %0 ["dp"] {tpsp.origin = #tpsp.origin<backward>} : !b_ -> tensor<8xf32, #tpsp.idx<q@dp>>
  %2 = tpsp.scale %1 {factor = 2.0 : f64, tpsp.origin = #tpsp.origin<update>} : tensor<8xf32, #tpsp.idx<q@dp>>
  %3 = tpsp.scale %1 {factor = 3.0 : f64, tpsp.origin = #tpsp.origin<update>} : tensor<8xf32, #tpsp.idx<q@dp>>
  return %2, %3 : tensor<8xf32, #tpsp.idx<q@dp>>, tensor<8xf32, #tpsp.idx<q@dp>>
}
