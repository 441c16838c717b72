// Every transition that a user can request, and its opposite in the backward
// pass.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --function all_to_all --grad --verify | FileCheck %s --check-prefix=ALLTOALL
// RUN: tpsp-run %s --function all_to_all --mesh a=1,b=4 --grad --verify --quiet
// RUN: tpsp-run %s --function permute --grad --verify | FileCheck %s --check-prefix=PERMUTE
// RUN: tpsp-run %s --function permute --mesh a=2,b=2 --grad --verify --quiet
// RUN: tpsp-run %s --function permute --mesh a=1,b=6 --grad --verify --quiet
// RUN: tpsp-run %s --function gather --grad --verify | FileCheck %s --check-prefix=GATHER
// RUN: tpsp-run %s --function slice --grad --verify | FileCheck %s --check-prefix=SLICE
// RUN: tpsp-run %s --function nothing --grad --verify | FileCheck %s --check-prefix=NOTHING
// RUN: tpsp-run %s --function minor --grad --verify --quiet

tpsp.mesh @mesh <a = 2, b = 3>

// ALLTOALL: forward all_to_all b h -> s
// ALLTOALL: backward all_to_all b s -> h
!heads = tensor<2x12x12x4xf32, #tpsp.idx<n, s, h@b, k>>
!seq   = tensor<2x12x12x4xf32, #tpsp.idx<n, s@b, h, k>>
func.func @all_to_all(%x: !heads) -> !seq {
  %y = tpsp.tanh %x : !heads
  %z = tpsp.reshard %y : !heads -> !seq
  %r = tpsp.sigmoid %z : !seq
  return %r : !seq
}

// PERMUTE: forward permute {{a,b|b,a}} n
// PERMUTE: backward permute {{a,b|b,a}} n
!ab = tensor<12x5xf32, #tpsp.idx<n@a@b, d>>
!ba = tensor<12x5xf32, #tpsp.idx<n@b@a, d>>
func.func @permute(%x: !ab) -> !ba {
  %y = tpsp.tanh %x : !ab
  %z = tpsp.reshard %y : !ab -> !ba
  %r = tpsp.sigmoid %z : !ba
  return %r : !ba
}

// Major and minor axis in one.
// GATHER: forward all_gather a,b n
!whole = tensor<12x5xf32, #tpsp.idx<n, d>>
func.func @gather(%x: !ab) -> !whole {
  %y = tpsp.tanh %x : !ab
  %z = tpsp.reshard %y : !ab -> !whole
  %r = tpsp.sigmoid %z : !whole
  return %r : !whole
}

// The gradient of a slice is gathered.
// SLICE: backward all_gather a,b n
func.func @slice(%x: !whole) -> !ab {
  %y = tpsp.tanh %x : !whole
  %z = tpsp.reshard %y : !whole -> !ab
  %r = tpsp.sigmoid %z : !ab
  return %r : !ab
}

// NOTHING: No collectives.
func.func @nothing(%x: !ab) -> !ab {
  %y = tpsp.tanh %x : !ab
  %z = tpsp.reshard %y : !ab
  return %z : !ab
}

// Only the minor axis moves, after two dimensions.
!from = tensor<2x12x9xf32, #tpsp.idx<m, n@a@b, d>>
!to   = tensor<2x12x9xf32, #tpsp.idx<m, n@a, d@b>>
func.func @minor(%x: !from) -> !to {
  %y = tpsp.tanh %x : !from
  %z = tpsp.reshard %y : !from -> !to
  %r = tpsp.sigmoid %z : !to
  return %r : !to
}
