// Algorithms on rows, and sorting into buckets.
// RUN: tpsp-opt %s --split-input-file --convert-tpsp-to-plan | FileCheck %s

// A lookup: an item is a token's block of 128 columns.
// CHECK-LABEL: func.func private @kernel0_one_hot_einsum(
// CHECK: memref.alloca() : memref<128xf32>
// CHECK-LABEL: plan.program @lookup
// CHECK: plan.kernel @kernel0_one_hot_einsum{{.*}}grid = 48
// CHECK-NOT: plan.kernel
!ids = tensor<2x3xi32, #tpsp.idx<b, s>>
!w = tensor<50x1024xbf16, #tpsp.idx<v, d>>
!z = tensor<2x3x1024xbf16, #tpsp.idx<b, s, d>>
func.func @lookup(%ids: !ids, %w: !w) -> !z {
  %z = tpsp.one_hot_einsum %ids, %w {indices = ["v"]} : (!ids, !w) -> !z
  return %z : !z
}

// -----

// Its gradient: every word is a bucket, which a first kernel fills. What goes to
// each is linked from the last token to the first, so that the list is in order;
// a range of words goes through the tokens once.
// CHECK-LABEL: func.func private @kernel0_one_hot_einsum_lists(
// CHECK-SAME: memref<2x3xi32>
// CHECK-NOT: bf16
// CHECK-COUNT-4: scf.for
// CHECK: scf.if
// CHECK-LABEL: func.func private @kernel1_one_hot_einsum(
// CHECK: scf.while
// CHECK: tpsp.trips = 1.200000e-01
// CHECK-LABEL: plan.program @gradient
// CHECK: %[[HEADS:.+]] = plan.buffer {{.*}}memref<50xi32>
// CHECK: %[[LINKS:.+]] = plan.buffer {{.*}}memref<2x3xi32>
// CHECK: plan.kernel @kernel0_one_hot_einsum_lists(%{{[0-9]+}}) to(%[[HEADS]], %[[LINKS]]) {grid = 50
// CHECK: plan.kernel @kernel1_one_hot_einsum(%{{.+}}, %{{.+}}, %[[HEADS]], %[[LINKS]]) {{.*}}grid = 400
!ids = tensor<2x3xi32, #tpsp.idx<b, s>>
!w = tensor<50x1024xbf16, #tpsp.idx<v, d>>
!z = tensor<2x3x1024xbf16, #tpsp.idx<b, s, d>>
func.func @gradient(%ids: !ids, %g: !z) -> !w {
  %w = tpsp.one_hot_einsum %ids, %g {indices = ["v"]} : (!ids, !z) -> !w
  return %w : !w
}

// -----

// Counts: a bucket for every value, at every position along the other indices.
// No lists.
// CHECK-LABEL: func.func private @kernel0_count_earlier(
// CHECK: memref.alloca({{.+}}) : memref<?xi32>
// CHECK-LABEL: plan.program @count
// CHECK: plan.kernel @kernel0_count_earlier(%{{.+}}) to(%{{.+}}) {grid = 32
// CHECK-NOT: plan.kernel
!k = tensor<4x6x2xi32, #tpsp.idx<g, s, k>>
func.func @count(%k: !k) -> !k {
  %c = tpsp.count_earlier %k {over = ["k", "s"], values = 8} : (!k) -> !k
  return %c : !k
}

// -----

// A recurrence: an item is a block of columns and all their positions, one
// after the other. States are f32.
// CHECK-LABEL: func.func private @kernel0_scan(
// CHECK: %[[STATES:.*]] = memref.alloca() : memref<96xf32>
// CHECK: memref.store %{{.*}}, %[[STATES]]
// CHECK: scf.for %[[S:.*]] = %{{.*}} to %c17
// CHECK: scf.for %[[D:.*]] = %
// CHECK: %[[Y:.*]] = memref.load %[[STATES]][%[[D]]]
// CHECK: memref.load %{{.*}}[%[[S]]] : memref<17xbf16
// CHECK: %[[AY:.*]] = arith.mulf %[[Y]],
// CHECK: memref.load %{{.*}}[%[[S]], %[[D]]] : memref<17x96xbf16
// CHECK: %[[NEXT:.*]] = arith.addf %[[AY]],
// CHECK: memref.store %[[NEXT]], %[[STATES]][%[[D]]]
// CHECK-LABEL: plan.program @recurrence
// CHECK: plan.kernel @kernel0_scan{{.*}}grid = 4
!x = tensor<2x17x192xbf16, #tpsp.idx<b, s, d>>
!a = tensor<2x17xbf16, #tpsp.idx<b, s>>
func.func @recurrence(%x: !x, %a: !a) -> !x {
  %y = tpsp.scan %x, %a {index = "s"} : (!x, !a) -> !x
  return %y : !x
}
