// RUN: tpsp-opt %s --tpsp-bucket-collectives | FileCheck %s

tpsp.mesh @mesh <dp = 2, tp = 4>

!g = tensor<16xf32, #tpsp.idx<d>>
!p = tensor<16xf32, #tpsp.idx<d | sum@tp>>
!p2 = tensor<16xf32, #tpsp.idx<d | sum@dp>>
!h = tensor<16xbf16, #tpsp.idx<d>>
!ph = tensor<16xbf16, #tpsp.idx<d | sum@tp>>
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

// What is used on the way is not put off.
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
  %4 = tpsp.all_reduce %e ["tp"] {tpsp.backward} : (!p) -> !g
  return %0, %1, %2, %3, %4 : !g, !g, !h, !g, !g
}
