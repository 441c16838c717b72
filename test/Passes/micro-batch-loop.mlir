// Without overlap a step in parts is the operations of one part, which stand for
// those of all: cut arguments and results have one part's type, and sums are
// accumulated.
// RUN: tpsp-opt %s --tpsp-micro-batch=micro-batches=2 | FileCheck %s
// RUN: tpsp-opt %s --tpsp-micro-batch=micro-batches=2 --tpsp-insert-collectives | FileCheck %s --check-prefix=PLACED
// RUN: tpsp-opt %s --tpsp-pipeline=micro-batches=2 | FileCheck %s --check-prefix=PLAN
// RUN: tpsp-opt %s --tpsp-pipeline=micro-batches=2 --tpsp-llvm-pipeline | FileCheck %s --check-prefix=LLVM

tpsp.mesh @mesh <dp = 2>

!x  = tensor<8x4xf32, #tpsp.idx<b@dp, d>>
!xi = tensor<4x8xf32, #tpsp.idx<d, b@dp>>
!w  = tensor<4xf32, #tpsp.idx<d>>
!l  = tensor<f32, #tpsp.idx<>>

// CHECK-LABEL: @cut
// CHECK-SAME: tensor<4x4xf32, #tpsp.idx<b@dp, d>> {tpsp.cut = 0 : i64}
// CHECK-SAME: -> (tensor<4x4xf32, #tpsp.idx<b@dp, d>> {tpsp.cut = 0 : i64})
// CHECK-SAME: tpsp.micro_batches = 2
// CHECK-NEXT: tpsp.exp {{.*}}part = 0
// CHECK-NEXT: return
// A part of two rows has 32 bytes on a rank; the whole has as many as before.
// PLAN-LABEL: plan.program @cut
// PLAN-SAME: micro_batches = 2
// PLAN: plan.buffer "input" {{.*}}cut = 0 : i64, {{.*}}tensor<4x4xf32, #tpsp.idx<b@dp, d>>} : memref<2x4xf32>
// PLAN: plan.kernel {{.*}}plan.segment = 1
// LLVM-DAG: @__tpsp_cut_slots_0(dense<[0, 32, -1, 1, 32, -1]>
// LLVM-DAG: llvm.func @cut(%{{.*}}: !llvm.ptr, %{{.*}}: i64) -> i32
func.func @cut(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}

// Along an inner dimension.
// CHECK-LABEL: @inner
// CHECK-SAME: tensor<4x4xf32, #tpsp.idx<d, b@dp>> {tpsp.cut = 1 : i64}
func.func @inner(%x: !xi) -> !xi {
  %y = tpsp.exp %x : !xi
  return %y : !xi
}

// What is the same in every part is computed before the parts, and added to
// their sum once. The sum is reduced once.
// CHECK-LABEL: @sum
// CHECK-SAME: %[[X:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]:
// CHECK-NEXT: %[[N:.*]] = tpsp.neg %[[W]] :
// CHECK-NEXT: %[[S:.*]] = tpsp.reduce %[[X]] {tpsp.origin = #tpsp.origin<part = 0>, tpsp.proposed}
// CHECK-NEXT: %[[T:.*]] = tpsp.scale %[[S]] {{.*}}part = 0
// CHECK-NEXT: %[[U:.*]] = tpsp.add %[[T]] {tpsp.origin = #tpsp.origin<part = 0>
// CHECK-NEXT: %[[A:.*]] = tpsp.accumulate %[[U]] {tpsp.origin = #tpsp.origin<part = 0>, tpsp.proposed}
// CHECK-NEXT: %[[M:.*]] = tpsp.add %[[N]] :
// CHECK-NEXT: %[[R:.*]] = tpsp.add %[[A]], %[[M]] :
// CHECK-NEXT: return %[[R]]
// PLACED-LABEL: @sum
// PLACED-NOT: all_reduce
// PLACED: accumulate {{.*}} : tensor<4xf32, #tpsp.idx<d | sum@dp>>
// PLACED: all_reduce {{.*}} ["dp"]
// PLACED-NOT: all_reduce
// PLACED: return
// The sum's memory begins as zeros; parts add to it in place.
// PLAN-LABEL: plan.program @sum
// PLAN: plan.kernel @{{.*}}constant{{.*}} to(%[[SUM:[^,)]+]]
// PLAN: plan.kernel {{.*}}updates(%[[SUM]] : {{.*}}plan.segment = 1
// PLAN: plan.all_reduce(%[[SUM]]) {{.*}}plan.segment = 2
func.func @sum(%x: !x, %w: !w) -> !w {
  %n = tpsp.neg %w : !w
  %s = tpsp.reduce %x : !x -> !w
  %t = tpsp.scale %s {factor = 0.5 : f64} : !w
  %u = tpsp.add %t, %n : !w
  return %u : !w
}

// A returned argument is copied once, not part by part: it stays written out.
// CHECK-LABEL: @returned
// CHECK-NOT: tpsp.cut
// CHECK: return
func.func @returned(%x: !x) -> (!x, !x) {
  %y = tpsp.exp %x : !x
  return %x, %y : !x, !x
}
