// RUN: tpsp-opt %s --tpsp-seed-calls | FileCheck %s
// RUN: tpsp-opt %s --tpsp-seed-calls --inline | FileCheck %s --check-prefix=INLINED

// The first call is as written, the second call's seeds are larger by 2^32, and
// so on, also for nested calls. No two seeds of a program are equal.

tpsp.mesh @mesh <tp = 2>
!x = tensor<4x8xf32, #tpsp.idx<b@tp, d>>

// CHECK-LABEL: func.func private @layer(
// CHECK:         tpsp.dropout {{.*}}seed = 7 : i64
func.func private @layer(%x: !x) -> !x {
  %y = tpsp.dropout %x {rate = 0.1, seed = 7} : !x
  return %y : !x
}

// CHECK-LABEL: func.func private @block(
// CHECK:         tpsp.dropout {{.*}}seed = -1 : i64
// CHECK:         call @layer(
// CHECK:         call @layer_0(
func.func private @block(%x: !x) -> !x {
  %y = tpsp.dropout %x {rate = 0.1, seed = -1} : !x
  %z = call @layer(%y) : (!x) -> !x
  %u = call @layer(%z) : (!x) -> !x
  return %u : !x
}

// A function without random numbers is not copied.
func.func private @plain(%x: !x) -> !x {
  %y = tpsp.tanh %x : !x
  return %y : !x
}

// CHECK-LABEL: func.func @model(
// CHECK:         call @block(
// CHECK:         call @block_{{[0-9]+}}(
// CHECK:         call @plain(
// CHECK:         call @plain(
// INLINED-LABEL: func.func @model(
// INLINED:         seed = -1 : i64
// INLINED:         seed = 7 : i64
// INLINED:         seed = 4294967303 : i64
// INLINED:         seed = 4294967295 : i64
// INLINED:         seed = 8589934599 : i64
// INLINED:         seed = 12884901895 : i64
func.func @model(%x: !x) -> !x {
  %y = call @block(%x) : (!x) -> !x
  %z = call @block(%y) : (!x) -> !x
  %u = call @plain(%z) : (!x) -> !x
  %v = call @plain(%u) : (!x) -> !x
  return %v : !x
}

// Every program counts separately.
// INLINED-LABEL: func.func @other(
// INLINED:         seed = 7 : i64
// INLINED:         seed = 4294967303 : i64
func.func @other(%x: !x) -> !x {
  %y = call @layer(%x) : (!x) -> !x
  %z = call @layer(%y) : (!x) -> !x
  return %z : !x
}

// Left to the inliner.
// CHECK-LABEL: func.func private @forever(
func.func private @forever(%x: !x) -> !x {
  %y = tpsp.dropout %x {rate = 0.1, seed = 3} : !x
  %z = call @forever(%y) : (!x) -> !x
  return %z : !x
}
func.func @recursive(%x: !x) -> !x {
  %y = call @forever(%x) : (!x) -> !x
  return %y : !x
}
