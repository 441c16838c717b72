// Dimensions of extent 1: an index that both sides of a split name is itself,
// and not one of the new parts before it.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify --quiet
// RUN: tpsp-opt %s --tpsp-propagate | FileCheck %s

tpsp.mesh @mesh <x = 1>
!x = tensor<6x1xf64, #tpsp.idx<a, f@x>>
!u = tensor<6x1x1xf64, #tpsp.idx<n0, n1, f, ?>>
!y = tensor<6x1x1xf64, #tpsp.idx<n0, n1, f@x>>
func.func @f(%x: !x) -> !y {
  // CHECK: split {{.*}} -> tensor<6x1x1xf64, #tpsp.idx<n0, n1, f@x>>
  %v = tpsp.split %x : (!x) -> !u
  %w = tpsp.exp %v : (!u) -> !y
  %z = tpsp.div %v, %w : (!u, !y) -> !y
  return %z : !y
}
