// Renaming, splitting and merging indices, sharded and not.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --mesh tp=1 --grad --verify --quiet
// RUN: tpsp-run %s --mesh tp=2 --grad --verify | FileCheck %s
// RUN: tpsp-run %s --mesh tp=4 --dtype bf16 --grad --verify --quiet

// A merged index is sharded by its major part.
// CHECK: No collectives.

tpsp.mesh @mesh <tp = 2 : model>

!e = tensor<5x24xf32, #tpsp.idx<s, e@tp>>
!h = tensor<5x4x6xf32, #tpsp.idx<s, h@tp, k>>
!t = tensor<5x4x6xf32, #tpsp.idx<t, h@tp, k>>
!m = tensor<5x24xf32, #tpsp.idx<t, m@tp>>
func.func @f(%x: !e) -> (!m, !e) {
  %a = tpsp.exp %x : !e
  %b = tpsp.split %a : !e -> !h
  %c = tpsp.rename %b : !h -> !t
  %d = tpsp.merge %c : !t -> !m
  %r = tpsp.square %d : !m
  return %r, %a : !m, !e
}
