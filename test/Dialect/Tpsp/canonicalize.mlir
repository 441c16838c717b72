// Identities, and next to each an operation that only looks like one.
// RUN: tpsp-opt %s --canonicalize | FileCheck %s

tpsp.mesh @mesh <tp = 2>
!x = tensor<8x4xf32, #tpsp.idx<s, d>>
!x_tp = tensor<8x4xf32, #tpsp.idx<s@tp, d>>
!x_ = tensor<8x4xf32, #tpsp.idx<s, d, ?>>
!y = tensor<8x4xf32, #tpsp.idx<t, d>>
!y_tp = tensor<8x4xf32, #tpsp.idx<t@tp, d>>
!z = tensor<8x4xf32, #tpsp.idx<u, d>>

// CHECK-LABEL: @reshard
func.func @reshard(%x: !x) -> (!x, !x_tp) {
  // CHECK-NEXT: %[[M:.*]] = tpsp.reshard %[[X:.*]] : {{.*}} -> {{.*}}s@tp
  // CHECK-NEXT: %[[N:.*]] = tpsp.neg %[[X]]
  // CHECK-NEXT: return %[[N]], %[[M]]
  %same = tpsp.reshard %x : !x
  %moved = tpsp.reshard %x : !x -> !x_tp
  %used = tpsp.neg %same : !x
  return %used, %moved : !x, !x_tp
}

// A returned value keeps its name.
// CHECK-LABEL: @returned
func.func @returned(%x: !x) -> !x {
  // CHECK-NEXT: tpsp.reshard
  %same = tpsp.reshard %x : !x
  return %same : !x
}

// A value that is not placed yet may be placed elsewhere.
// CHECK-LABEL: @unplaced
func.func @unplaced(%x: !x) -> !x_ {
  // CHECK-COUNT-2: tpsp.reshard
  %a = tpsp.reshard %x : !x -> !x_
  %b = tpsp.reshard %a : !x_
  return %b : !x_
}

// CHECK-LABEL: @rename
func.func @rename(%x: !x) -> !z {
  // CHECK-NEXT: %[[Z:.*]] = tpsp.rename %{{.*}} : {{.*}}<s, d>> -> {{.*}}<u, d>
  // CHECK-NEXT: return %[[Z]]
  %same = tpsp.rename %x : !x
  %y = tpsp.rename %same : !x -> !y
  %z = tpsp.rename %y : !y -> !z
  return %z : !z
}

// The first asks for another place.
// CHECK-LABEL: @rename_that_moves
func.func @rename_that_moves(%x: !x) -> !z {
  // CHECK-COUNT-2: tpsp.rename
  %y = tpsp.rename %x : !x -> !y_tp
  %z = tpsp.rename %y : !y_tp -> !z
  return %z : !z
}

// CHECK-LABEL: @scale
func.func @scale(%x: !x) -> !x {
  // CHECK-NEXT: %[[S:.*]] = tpsp.scale %{{.*}} {factor = -3.000000e+00 : f64}
  // CHECK-NEXT: return %[[S]]
  %one = tpsp.scale %x {factor = 1.0} : !x
  %a = tpsp.scale %one {factor = 3.0} : !x
  %b = tpsp.scale %a {factor = -1.0} : !x
  return %b : !x
}

// Rounded twice, as it is written; the first may overflow.
// CHECK-LABEL: @scale_twice
func.func @scale_twice(%x: !x) -> !x {
  // CHECK-NEXT: tpsp.scale %{{.*}} {factor = 2.000000e+38 : f64}
  // CHECK-NEXT: tpsp.scale %{{.*}} {factor = 5.000000e-01 : f64}
  %a = tpsp.scale %x {factor = 2.0e38} : !x
  %b = tpsp.scale %a {factor = 0.5} : !x
  return %b : !x
}

// CHECK-LABEL: @scale_that_moves
func.func @scale_that_moves(%x: !x) -> (!x_tp, !x) {
  // CHECK-COUNT-3: tpsp.scale
  %one = tpsp.scale %x {factor = 1.0} : !x -> !x_tp
  %a = tpsp.scale %x {factor = 3.0} : !x -> !x_tp
  %b = tpsp.scale %a {factor = 0.5} : !x_tp -> !x
  return %one, %b : !x_tp, !x
}

// CHECK-LABEL: @sum
func.func @sum(%x: !x, %row: tensor<4xf32, #tpsp.idx<d>>) -> (!x, !x) {
  // CHECK-NEXT: tpsp.broadcast
  // CHECK-NEXT: %[[N:.*]] = tpsp.neg %{{.*}} : tensor<8x4
  // CHECK-NEXT: %[[B:.*]] = tpsp.add %{{.*}}, %{{.*}} : (tensor<4xf32
  // CHECK-NEXT: return %[[N]], %[[B]]
  %sum = tpsp.add %x : !x
  %wide = tpsp.broadcast %row : tensor<4xf32, #tpsp.idx<d>> -> !x
  %one = tpsp.neg %sum : !x
  %two = tpsp.add %row, %wide : (tensor<4xf32, #tpsp.idx<d>>, !x) -> !x
  return %one, %two : !x, !x
}

// CHECK-LABEL: @slice_of_gather
func.func @slice_of_gather(%x: !x_tp, %u: tensor<8x4xf32, #tpsp.idx<s, d@tp>>) -> (!x_tp, !x_tp) {
  // CHECK-NEXT: %[[G:.*]] = tpsp.all_gather %[[U:.*]] ["tp"]
  // CHECK-NEXT: %[[S:.*]] = tpsp.slice %[[G]]
  // CHECK-NEXT: return %{{.*}}, %[[S]]
  %g = tpsp.all_gather %x ["tp"] : !x_tp -> !x
  %s = tpsp.slice %g ["tp"] : !x -> !x_tp
  %other = tpsp.all_gather %u ["tp"] : tensor<8x4xf32, #tpsp.idx<s, d@tp>> -> !x
  %cut = tpsp.slice %other ["tp"] : !x -> !x_tp
  return %s, %cut : !x_tp, !x_tp
}

!q = tensor<8x4xf32, #tpsp.idx<s, k>>
!k = tensor<8x4xf32, #tpsp.idx<t, k>>
!l = tensor<8xf32, #tpsp.idx<s>>
// CHECK-LABEL: @statistic
func.func @statistic(%q: !q, %k: !k) -> (!q, !q, !l) {
  // CHECK-NEXT: %[[O:.*]] = tpsp.attention {{.*}} -> tensor<8x4xf32, #tpsp.idx<s, k>>
  // CHECK-NEXT: %{{.*}}, %{{.*}} = tpsp.attention
  %o, %l = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k"} : (!q, !k, !k) -> (!q, !l)
  %p, %m = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", causal} : (!q, !k, !k) -> (!q, !l)
  return %o, %p, %m : !q, !q, !l
}
