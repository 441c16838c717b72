// A maximum over a sharded index, completed and left open.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --function whole --verify | FileCheck %s
// RUN: tpsp-run %s --function whole --mesh tp=1 --verify --quiet
// RUN: tpsp-run %s --function open --verify --quiet
// RUN: tpsp-run %s --function scattered --verify --quiet

// CHECK: forward all_reduce tp

tpsp.mesh @mesh <tp = 3 : model>

!x = tensor<6x9xf32, #tpsp.idx<s, d@tp>>
!y = tensor<6xf32, #tpsp.idx<s>>
func.func @whole(%x: !x) -> !y {
  %y = tpsp.reduce %x {kind = "max"} : !x -> !y
  return %y : !y
}

!p = tensor<6xf32, #tpsp.idx<s | max@tp>>
func.func @open(%x: !x) -> !p {
  %y = tpsp.reduce %x {kind = "max"} : !x -> !p
  return %y : !p
}

!s = tensor<6xf32, #tpsp.idx<s@tp>>
func.func @scattered(%x: !x) -> !s {
  %y = tpsp.reduce %x {kind = "max"} : !x -> !s
  return %y : !s
}
