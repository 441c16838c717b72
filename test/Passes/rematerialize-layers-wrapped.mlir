// A function that wraps all layers is no layer: under "full" the result of each
// layer is kept, as without it. Nor are the parts of a layer that call one
// function each.
// RUN: tpsp-opt %s --inline --tpsp-propagate --tpsp-differentiate --cse --tpsp-rematerialize=rematerialize=full | FileCheck %s

!x = tensor<8x16xf32, #tpsp.idx<s, d>>

func.func private @first(%x: !x) -> !x {
  %a = tpsp.softmax %x {over = "d"} : !x
  return %a : !x
}

func.func private @part(%x: !x) -> !x {
  %a = tpsp.square %x : !x
  %b = tpsp.exp %a : !x
  return %b : !x
}

func.func private @layer(%x: !x) -> !x {
  %a = call @part(%x) : (!x) -> !x
  %b = tpsp.tanh %a : !x
  %c = call @part(%b) : (!x) -> !x
  %d = tpsp.silu %c : !x
  return %d : !x
}

func.func private @decoder(%x: !x) -> !x {
  %a = call @layer(%x) : (!x) -> !x
  %b = call @layer(%a) : (!x) -> !x
  return %b : !x
}

// CHECK-LABEL: func.func @wrapped_grad(
//      CHECK: %[[FIRST:.*]] = tpsp.softmax
// CHECK-NEXT: tpsp.square %[[FIRST]] :
//      CHECK: %[[ONE:.*]] = tpsp.silu
// CHECK-NEXT: tpsp.square %[[ONE]] :
//      CHECK: %[[TWO:.*]] = tpsp.silu
// The second layer, from the result of the first, and all of it.
//      CHECK: tpsp.square %[[ONE]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
// CHECK-NEXT: tpsp.exp {{.*}}recomputed
// CHECK-NEXT: tpsp.tanh {{.*}}recomputed
// CHECK-NEXT: tpsp.square {{.*}}recomputed
// CHECK-NEXT: tpsp.exp {{.*}}recomputed
//  CHECK-NOT: recomputed
// The first layer, from the operation before it.
//      CHECK: tpsp.square %[[FIRST]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
// CHECK-NEXT: tpsp.exp {{.*}}recomputed
// CHECK-NEXT: tpsp.tanh {{.*}}recomputed
// CHECK-NEXT: tpsp.square {{.*}}recomputed
// CHECK-NEXT: tpsp.exp {{.*}}recomputed
//  CHECK-NOT: recomputed
func.func @wrapped(%x: !x) -> !x {
  %a = call @first(%x) : (!x) -> !x
  %b = call @decoder(%a) : (!x) -> !x
  return %b : !x
}

// One layer alone is a layer, whatever it calls.
// CHECK-LABEL: func.func @single_grad(
// CHECK-SAME: %[[X:[^:]*]]: tensor
//      CHECK: tpsp.square %[[X]] :
//      CHECK: tpsp.square %[[X]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
// CHECK-NEXT: tpsp.exp {{.*}}recomputed
// CHECK-NEXT: tpsp.tanh {{.*}}recomputed
// CHECK-NEXT: tpsp.square {{.*}}recomputed
// CHECK-NEXT: tpsp.exp {{.*}}recomputed
//  CHECK-NOT: recomputed
func.func @single(%x: !x) -> !x {
  %a = call @layer(%x) : (!x) -> !x
  return %a : !x
}
