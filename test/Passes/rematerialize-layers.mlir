// A layer is a call in the function that is differentiated, with all that it
// calls: under "full" its inputs are kept and no more. What stands outside of
// every call is kept.
// RUN: tpsp-opt %s --inline --tpsp-propagate --tpsp-differentiate --cse --tpsp-rematerialize=rematerialize=full | FileCheck %s
// Layers are not told apart by the names of the source.
// RUN: tpsp-opt %s --tpsp-name-values --inline --tpsp-propagate --tpsp-differentiate --cse --tpsp-rematerialize=rematerialize=full | FileCheck %s

!x = tensor<8x16xf32, #tpsp.idx<s, d>>

func.func private @inner(%x: !x) -> !x {
  %a = tpsp.tanh %x : !x
  %b = tpsp.exp %a : !x
  return %b : !x
}

func.func private @layer(%x: !x) -> !x {
  %a = tpsp.square %x : !x
  %b = call @inner(%a) : (!x) -> !x
  %c = tpsp.silu %b : !x
  return %c : !x
}

// CHECK-LABEL: func.func @model_grad(
// CHECK-SAME: %[[X:[^:]*]]: tensor
//      CHECK: %[[OUTSIDE:.*]] = tpsp.softmax %[[X]] 
// CHECK-NEXT: tpsp.square
// CHECK-NEXT: tpsp.tanh
// CHECK-NEXT: tpsp.exp
// CHECK-NEXT: %[[ONE:.*]] = tpsp.silu
// CHECK-NEXT: tpsp.square %[[ONE]] :
// CHECK-NEXT: tpsp.tanh
// CHECK-NEXT: tpsp.exp
// CHECK-NEXT: %[[TWO:.*]] = tpsp.silu
// CHECK-NEXT: tpsp.gelu %[[TWO]] :
// The operation after the layers.
// CHECK-NEXT: tpsp.slope %[[TWO]] {of = "gelu", tpsp.origin = #tpsp.origin<backward>}
// CHECK-NEXT: tpsp.mul
// The second layer, from the result of the first.
// CHECK-NEXT: %[[S2:.*]] = tpsp.square %[[ONE]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
// CHECK-NEXT: %[[T2:.*]] = tpsp.tanh %[[S2]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
// CHECK-NEXT: %[[E2:.*]] = tpsp.exp %[[T2]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
// CHECK-NEXT: tpsp.slope %[[E2]] {of = "silu", tpsp.origin = #tpsp.origin<backward>}
//      CHECK: tpsp.slope %[[T2]] {of = "exp", tpsp.origin = #tpsp.origin<backward>}
//      CHECK: tpsp.slope %[[S2]] {of = "tanh", tpsp.origin = #tpsp.origin<backward>}
//      CHECK: tpsp.slope %[[ONE]] {of = "square", tpsp.origin = #tpsp.origin<backward>}
// CHECK-NEXT: tpsp.mul
// The first layer, from the operation before it.
// CHECK-NEXT: %[[S1:.*]] = tpsp.square %[[OUTSIDE]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
// CHECK-NEXT: %[[T1:.*]] = tpsp.tanh %[[S1]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
// CHECK-NEXT: tpsp.exp %[[T1]] {tpsp.origin = #tpsp.origin<backward, recomputed>}
//      CHECK: tpsp.slope %[[OUTSIDE]] {of = "square", tpsp.origin = #tpsp.origin<backward>}
//  CHECK-NOT: tpsp.origin = #tpsp.origin<recomputed>
func.func @model(%x: !x) -> !x {
  %a = tpsp.softmax %x {over = "d"} : !x
  %b = call @layer(%a) : (!x) -> !x
  %c = call @layer(%b) : (!x) -> !x
  %d = tpsp.gelu %c : !x
  return %d : !x
}
