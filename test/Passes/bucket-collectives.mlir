// RUN: tpsp-opt %s --tpsp-bucket-collectives | FileCheck %s

tpsp.mesh @mesh <dp = 2, tp = 4>

!g = tensor<16xf32, #tpsp.idx<d>>
!p = tensor<16xf32, #tpsp.idx<d | sum@tp>>
!p2 = tensor<16xf32, #tpsp.idx<d | sum@dp>>
!h = tensor<16xbf16, #tpsp.idx<d>>
!ph = tensor<16xbf16, #tpsp.idx<d | sum@tp>>
!e = tensor<16xf32, #tpsp.idx<e>>
!n = tensor<4x4xf32, #tpsp.idx<h, k>>
!m = tensor<16xf32, #tpsp.idx<d | max@tp>>

// CHECK-LABEL: @only_returned
// CHECK-SAME: %[[A:[a-z0-9]+]]: {{.*}}, %[[B:[a-z0-9]+]]: {{.*}}, %[[C:[a-z0-9]+]]:
func.func @only_returned(%a: !p, %b: !p, %c: !p) -> (!g, !g, !g) {
  // CHECK-NEXT: %[[R:.*]]:3 = tpsp.all_reduce %[[A]], %[[B]], %[[C]] ["tp"] {reason = "r", tensor = "a, b, c"}
  // CHECK-NEXT: return %[[R]]#1, %[[R]]#0, %[[R]]#2
  %0 = tpsp.all_reduce %a ["tp"] {reason = "r", tensor = "a"} : (!p) -> !g
  %1 = tpsp.all_reduce %b ["tp"] {reason = "r", tensor = "b"} : (!p) -> !g
  %2 = tpsp.all_reduce %c ["tp"] {reason = "r", tensor = "c"} : (!p) -> !g
  return %1, %0, %2 : !g, !g, !g
}

// A bucket stands where its last tensor is ready, not at the end. So the
// following work can hide it.
// CHECK-LABEL: @where_the_last_is_ready
// CHECK-SAME: %[[A:[a-z0-9]+]]: {{.*}}, %[[B:[a-z0-9]+]]: {{.*}}, %[[X:[a-z0-9]+]]:
func.func @where_the_last_is_ready(%a: !p, %b: !p, %x: !g) -> (!g, !g, !g) {
  // CHECK-NEXT: %[[P:.*]] = tpsp.neg %[[B]]
  // CHECK-NEXT: %[[R:.*]]:2 = tpsp.all_reduce %[[A]], %[[P]] ["tp"] {reason = "r; q", tensor = "a, b"}
  // CHECK-NEXT: %[[Y:.*]] = tpsp.exp %[[X]]
  // CHECK-NEXT: return %[[R]]#0, %[[R]]#1, %[[Y]]
  %0 = tpsp.all_reduce %a ["tp"] {reason = "r", tensor = "a"} : (!p) -> !g
  %p = tpsp.neg %b : !p
  %1 = tpsp.all_reduce %p ["tp"] {reason = "q", tensor = "b"} : (!p) -> !g
  %y = tpsp.exp %x : !g
  return %0, %1, %y : !g, !g, !g
}

// Two independent collectives without a use between become one, where the
// second stands. A row's sum and its target's logit are an example.
// CHECK-LABEL: @nobody_between
// CHECK-SAME: %[[A:[a-z0-9]+]]: {{.*}}, %[[B:[a-z0-9]+]]:
func.func @nobody_between(%a: !p, %b: !p) -> !g {
  // CHECK-NEXT: %[[P:.*]] = tpsp.neg %[[B]]
  // CHECK-NEXT: %[[R:.*]]:2 = tpsp.all_reduce %[[A]], %[[P]]
  // CHECK-NEXT: %[[L:.*]] = tpsp.log %[[R]]#0
  // CHECK-NEXT: tpsp.sub %[[L]], %[[R]]#1
  %0 = tpsp.all_reduce %a ["tp"] : (!p) -> !g
  %p = tpsp.neg %b : !p
  %1 = tpsp.all_reduce %p ["tp"] : (!p) -> !g
  %l = tpsp.log %0 : !g
  %y = tpsp.sub %l, %1 : !g
  return %y : !g
}

// A use between, on which the second may depend.
// CHECK-LABEL: @user_between
func.func @user_between(%a: !p, %b: !p) -> !g {
  // CHECK-NEXT: %[[S:.*]] = tpsp.all_reduce %{{[a-z0-9]+}} [
  // CHECK-NEXT: exp %[[S]]
  // CHECK-NEXT: mul
  // CHECK-NEXT: all_reduce %{{[a-z0-9]+}} [
  %0 = tpsp.all_reduce %a ["tp"] : (!p) -> !g
  %1 = tpsp.exp %0 : !g
  %2 = tpsp.mul %1, %b : (!g, !p) -> !p
  %3 = tpsp.all_reduce %2 ["tp"] : (!p) -> !g
  %y = tpsp.exp %3 : !g
  return %y : !g
}

// A result with a use does not wait for a returned one.
// CHECK-LABEL: @not_with_returned
func.func @not_with_returned(%a: !p, %b: !p) -> (!g, !g) {
  // CHECK-COUNT-2: all_reduce %{{[a-z0-9]+}} [
  %0 = tpsp.all_reduce %a ["tp"] : (!p) -> !g
  %1 = tpsp.all_reduce %b ["tp"] : (!p) -> !g
  %y = tpsp.exp %1 : !g
  return %0, %y : !g, !g
}

// A view is no use: it waits with the result.
// CHECK-LABEL: @views_wait
// CHECK-SAME: %[[A:[a-z0-9]+]]: {{.*}}, %[[B:[a-z0-9]+]]:
func.func @views_wait(%a: !p, %b: !p) -> (!n, !g) {
  // CHECK-NEXT: %[[P:.*]] = tpsp.neg %[[B]]
  // CHECK-NEXT: %[[R:.*]]:2 = tpsp.all_reduce %[[A]], %[[P]]
  // CHECK-NEXT: %[[E:.*]] = tpsp.rename %[[R]]#0
  // CHECK-NEXT: %[[N:.*]] = tpsp.split %[[E]]
  // CHECK-NEXT: return %[[N]], %[[R]]#1
  %0 = tpsp.all_reduce %a ["tp"] : (!p) -> !g
  %e = tpsp.rename %0 : !g -> !e
  %n = tpsp.split %e : !e -> !n
  %p = tpsp.neg %b : !p
  %1 = tpsp.all_reduce %p ["tp"] : (!p) -> !g
  return %n, %1 : !n, !g
}

// A collective with a use in between is not delayed.
// CHECK-LABEL: @not_if_used
func.func @not_if_used(%a: !p, %b: !p) -> (!g, !g) {
  // CHECK-NEXT: all_reduce
  // CHECK-NEXT: exp
  // CHECK-NEXT: all_reduce
  // CHECK-NEXT: return
  %0 = tpsp.all_reduce %a ["tp"] : (!p) -> !g
  %1 = tpsp.exp %0 : !g
  %2 = tpsp.all_reduce %b ["tp"] : (!p) -> !g
  return %1, %2 : !g, !g
}

// Other axes, element types, reductions or passes are other collectives.
// CHECK-LABEL: @not_if_different
func.func @not_if_different(%a: !p, %b: !p2, %c: !ph, %d: !m, %e: !p) -> (!g, !g, !h, !g, !g) {
  // CHECK-COUNT-5: all_reduce %{{[a-z0-9]+}} [
  %0 = tpsp.all_reduce %a ["tp"] : (!p) -> !g
  %1 = tpsp.all_reduce %b ["dp"] : (!p2) -> !g
  %2 = tpsp.all_reduce %c ["tp"] : (!ph) -> !h
  %3 = tpsp.all_reduce %d ["tp"] : (!m) -> !g
  %4 = tpsp.all_reduce %e ["tp"] {tpsp.origin = #tpsp.origin<backward>} : (!p) -> !g
  return %0, %1, %2, %3, %4 : !g, !g, !h, !g, !g
}
