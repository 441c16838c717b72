// What a step in parts is: arguments cut within every rank's shard, results
// stacked or summed, what does not depend on the batch computed once.
// RUN: tpsp-opt %s --tpsp-micro-batch="micro-batches=2 overlap=on" | FileCheck %s
// RUN: tpsp-opt %s --tpsp-micro-batch | FileCheck %s --check-prefix=ONE
// RUN: not tpsp-opt %s --tpsp-micro-batch=micro-batches=0 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: for the --micro-batches option: expected a number above 0, not '0'
// RUN: tpsp-opt %s --tpsp-micro-batch="micro-batches=2 overlap=on" --tpsp-insert-collectives | FileCheck %s --check-prefix=PLACED

tpsp.mesh @mesh <dp = 2>

!x  = tensor<8x4xf32, #tpsp.idx<b@dp, d>>
!xu = tensor<8x4xf32, #tpsp.idx<b, d>>
!s  = tensor<2x4xf32, #tpsp.idx<b@dp, d>>
!w  = tensor<4xf32, #tpsp.idx<d>>
!wu = tensor<4xf32, #tpsp.idx<d, ?>>
!l  = tensor<f32, #tpsp.idx<>>

// ONE-NOT: take

// A part is two of the four rows of either rank.
// CHECK-LABEL: @cut
// CHECK-SAME: %[[X:[a-z0-9]+]]:
// CHECK: %[[S:.*]] = tpsp.split %[[X]] {tpsp.origin = #tpsp.origin<part = 0>} : tensor<8x4xf32, #tpsp.idx<b@dp, d>> -> tensor<2x2x2x4xf32, #tpsp.idx<b.block@dp, b.part, b.row, d>>
// CHECK: %[[T:.*]] = tpsp.take %[[S]] {at = 0 : i64, index = "b.part", tpsp.origin = #tpsp.origin<part = 0>} : {{.*}} -> tensor<2x2x4xf32, #tpsp.idx<b.block@dp, b.row, d>>
// CHECK: %[[P:.*]] = tpsp.merge %[[T]] {tpsp.origin = #tpsp.origin<part = 0>} : {{.*}} -> tensor<4x4xf32, #tpsp.idx<b@dp, d>>
// CHECK: %[[Y:.*]] = tpsp.exp %[[P]] {tpsp.origin = #tpsp.origin<part = 0>} : tensor<4x4xf32, #tpsp.idx<b@dp, d>>
// CHECK: take {{.*}}at = 1
// CHECK: %[[Z:.*]] = tpsp.exp
// CHECK: %[[A:.*]] = tpsp.split %[[Y]]
// CHECK: %[[B:.*]] = tpsp.split %[[Z]]
// CHECK: %[[R:.*]] = tpsp.stack %[[A]], %[[B]] {index = "b.part"}
// CHECK: %[[M:.*]] = tpsp.merge %[[R]] : {{.*}} -> tensor<8x4xf32, #tpsp.idx<b@dp, d>>
// CHECK: return %[[M]]
// Nothing moves.
// PLACED-LABEL: @cut
// PLACED-NOT: {{all_|scatter|slice|permute}}
// PLACED: return
func.func @cut(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}

// A part of one row for every rank has no index for it.
// CHECK-LABEL: @one_row
// CHECK: %[[S:.*]] = tpsp.split {{.*}} -> tensor<1x2x4xf32, #tpsp.idx<b.block, b.part, d>>
// CHECK: %[[T:.*]] = tpsp.take %[[S]] {{.*}} -> tensor<1x4xf32, #tpsp.idx<b.block, d>>
// CHECK: tpsp.rename %[[T]] {{.*}} -> tensor<1x4xf32, #tpsp.idx<b, d>>
!o = tensor<2x4xf32, #tpsp.idx<b, d>>
func.func @one_row(%x: !o) -> !o {
  %y = tpsp.exp %x : !o
  return %y : !o
}

// A sum is partial until the last addition, also behind a linear operation; what
// is the same in every part is made once and added once.
// CHECK-LABEL: @sum
// CHECK-SAME: %[[X:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]:
// CHECK: %[[N:.*]] = tpsp.neg %[[W]] :
// CHECK: %[[S:.*]] = tpsp.reduce %{{.*}} {tpsp.origin = #tpsp.origin<part = 0>, tpsp.proposed}
// CHECK: %[[T:.*]] = tpsp.scale %[[S]] {factor = 5.000000e-01 : f64, tpsp.origin = #tpsp.origin<part = 0>, tpsp.proposed}
// CHECK: %[[U:.*]] = tpsp.add %[[T]] {tpsp.origin = #tpsp.origin<part = 0>, tpsp.proposed}
// CHECK-NOT: neg
// CHECK: %[[V:.*]] = tpsp.add %{{[0-9]+}} {tpsp.origin = #tpsp.origin<part = 1>, tpsp.proposed}
// CHECK: %[[A:.*]] = tpsp.add %[[U]], %[[V]] {tpsp.origin = #tpsp.origin<part = 1>, tpsp.proposed}
// CHECK: %[[M:.*]] = tpsp.add %[[N]] :
// CHECK: %[[R:.*]] = tpsp.add %[[A]], %[[M]] :
// CHECK: return %[[R]]
// PLACED-LABEL: @sum
// PLACED-NOT: all_reduce
// PLACED: add {{.*}}tpsp.origin = #tpsp.origin<part = 1>} : tensor<4xf32, #tpsp.idx<d | sum@dp>>
// PLACED: all_reduce {{.*}} ["dp"]
// PLACED-NOT: all_reduce
// PLACED: return
func.func @sum(%x: !x, %w: !w) -> !w {
  %n = tpsp.neg %w : !w
  %s = tpsp.reduce %x : !x -> !w
  %t = tpsp.scale %s {factor = 0.5 : f64} : !w
  %u = tpsp.add %t, %n : !w
  return %u : !w
}

// A rest with indices of its own, through what is linear in it.
// CHECK-LABEL: @rest
// CHECK: %[[S:.*]] = tpsp.reduce {{.*}}part = 1
// CHECK: tpsp.broadcast %[[S]] {tpsp.origin = #tpsp.origin<part = 1>} : {{.*}} -> tensor<4xf32, #tpsp.idx<d, ?>>
// CHECK: %[[A:.*]] = tpsp.add %{{[a-z0-9]+}}, %{{[a-z0-9]+}} {tpsp.origin = #tpsp.origin<part = 1>, tpsp.proposed}
// CHECK: %[[W:.*]] = tpsp.add %{{[a-z0-9]+}} : tensor<4xf32
// CHECK: %[[M:.*]] = tpsp.scale %[[W]] {factor = 2
// CHECK: %[[R:.*]] = tpsp.add %[[A]], %[[M]] :
// CHECK: return %[[R]]
func.func @rest(%x: !x, %w: !w) -> !w {
  %s = tpsp.reduce %x : !x -> !l
  %t = tpsp.add %s, %w : (!l, !w) -> !w
  %u = tpsp.scale %t {factor = 2.0 : f64} : !w
  return %u : !w
}

// The operation that introduces the batch does so part by part.
// CHECK-LABEL: @introduced
// CHECK: tpsp.broadcast %{{.*}} {tpsp.origin = #tpsp.origin<part = 0>} : {{.*}} -> tensor<4x4xf32, #tpsp.idx<b@dp, d>>
func.func @introduced(%x: !x, %w: !w) -> !x {
  %v = tpsp.broadcast %w : !w -> !x
  %y = tpsp.mul %x, %v : !x
  return %y : !x
}

// Under other names.
// CHECK-LABEL: @renamed
// CHECK: tpsp.rename {{.*}} -> tensor<4x4xf32, #tpsp.idx<c@dp, d>>
// CHECK: tpsp.merge {{.*}} : tensor<4x4xf32, #tpsp.idx<c@dp, d>> -> tensor<16xf32, #tpsp.idx<t@dp>>
// CHECK: tpsp.merge {{.*}} -> tensor<32xf32, #tpsp.idx<t@dp>>
!c = tensor<8x4xf32, #tpsp.idx<c@dp, d>>
!t = tensor<32xf32, #tpsp.idx<t@dp>>
func.func @renamed(%x: !x) -> !t {
  %c = tpsp.rename %x : !x -> !c
  %t = tpsp.merge %c : !c -> !t
  %y = tpsp.exp %t : !t
  return %y : !t
}

// An argument, and what no part changes, are returned as they are.
// CHECK-LABEL: @as_they_are
// CHECK-SAME: %[[X:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]:
// CHECK-NEXT: %[[E:.*]] = tpsp.exp %[[W]]
// CHECK-NEXT: return %[[X]], %[[E]]
func.func @as_they_are(%x: !x, %w: !w) -> (!x, !w) {
  %e = tpsp.exp %w : !w
  return %x, %e : !x, !w
}
