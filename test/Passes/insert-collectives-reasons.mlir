// Reasons of collectives without a computation: a request is its own reason,
// and a gradient has its tensor's placement.
// RUN: tpsp-opt %s --tpsp-differentiate --tpsp-insert-collectives | FileCheck %s

tpsp.mesh @mesh <tp = 4>

!x = tensor<8x16xf32, #tpsp.idx<b@tp, s>>
!y = tensor<8x16xf32, #tpsp.idx<b, s@tp>>

// CHECK-LABEL: @moved_grad
// CHECK: all_to_all {{.*}} {reason = "this reshard asks for [b, s@tp]", tensor = "reshard"}
// CHECK: all_to_all {{.*}} {reason = "a gradient lies where its tensor does, [b@tp, s]", {{.*}}tpsp.origin = #tpsp.origin<backward>}
func.func @moved(%x: !x {tpsp.name = "x"}) -> !y {
  %y = tpsp.reshard %x : !x -> !y
  return %y : !y
}

// A computation's reason names what the axis drives.
// CHECK-LABEL: @computed_grad
// CHECK: all_to_all {{.*}} {reason = "@tp divides {{.*}}", tensor = "{{.*}}"}
func.func @computed(%x: !x) -> !y {
  %y = tpsp.exp %x : !x -> !y
  return %y : !y
}
