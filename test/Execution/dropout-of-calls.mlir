// A layer that is called twice drops other places each time.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify --quiet
// RUN: tpsp-run %s --grad --verify --quiet --mesh tp=1 --keep-masks
// RUN: tpsp-run %s --grad --verify --quiet --rematerialize full --micro-batches 2
// RUN: tpsp-opt %s --tpsp-explain=every-layer | FileCheck %s
// CHECK:     seed=5)
// CHECK:     seed=4294967301)
// CHECK:     backward
// CHECK:     seed=4294967301)
// CHECK:     seed=5)

tpsp.mesh @mesh <tp = 2>
!x = tensor<12x40xf32, #tpsp.idx<b, d@tp>>
func.func private @layer(%x: !x) -> !x {
  %t = tpsp.tanh %x : !x
  %y = tpsp.dropout %t {rate = 0.25, seed = 5} : !x
  %z = tpsp.add %x, %y : !x
  return %z : !x
}
func.func @model(%x: !x) -> !x {
  %y = call @layer(%x) : (!x) -> !x
  %z = call @layer(%y) : (!x) -> !x
  return %z : !x
}
