// openxla/xla#42481: in the backward of an embedding the slice of a gradient was
// moved before its all-reduce, and the gradients were wrong.
//
// Here a gradient that is partial over dp and wanted on an index over tp is made
// so, or sliced first: that is right because the axes differ, so that every rank
// of a dp group has the same slice. Wanted on the axis of the sum itself, it is
// reduce-scattered and never sliced.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --function other_axis --grad --verify | FileCheck %s --check-prefix=OTHER
// RUN: tpsp-run %s --function own_axis --grad --verify | FileCheck %s --check-prefix=OWN
// RUN: tpsp-run %s --function sliced --grad --verify | FileCheck %s --check-prefix=SLICED
// RUN: tpsp-run %s --function other_axis --mesh dp=4,tp=2 --grad --verify --quiet
// RUN: tpsp-run %s --function own_axis --mesh dp=4,tp=2 --grad --verify --quiet
// RUN: tpsp-run %s --function sliced --mesh dp=4,tp=2 --grad --verify --quiet

// OTHER: phase kind axes
// OTHER-NEXT: forward all_reduce tp 576 B x
// OTHER-NEXT: backward all_reduce dp 288 B g[table]
// OTHER-EMPTY:
// OTHER: all within tolerance
// OWN: phase kind axes
// OWN-NEXT: forward all_gather dp v 576 B table
// OWN-NEXT: backward reduce_scatter dp v 576 B g[table]
// OWN-EMPTY:
// OWN: all within tolerance
// SLICED: phase kind axes
// SLICED-NEXT: forward all_reduce dp 288 B y
// SLICED-NEXT: backward all_gather tp v 864 B g[p]
// SLICED-EMPTY:
// SLICED: all within tolerance

tpsp.mesh @mesh <dp = 2 : data, tp = 4 : model>

!i = tensor<16xi32, #tpsp.idx<s@dp>>
!x = tensor<16x12xf32, #tpsp.idx<s@dp, d>>

!table = tensor<24x12xf32, #tpsp.idx<v@tp, d>>
func.func @other_axis(%i: !i, %table: !table {tpsp.param = "table"}) -> !x {
  %x = tpsp.embedding %i, %table {vocabulary = "v"} : (!i, !table) -> !x
  return %x : !x
}

!shards = tensor<24x12xf32, #tpsp.idx<v@dp, d>>
func.func @own_axis(%i: !i, %table: !shards {tpsp.param = "table"}) -> !x {
  %x = tpsp.embedding %i, %table {vocabulary = "v"} : (!i, !shards) -> !x
  return %x : !x
}

// The slice as a request: the all-reduce is of a quarter.
!t = tensor<16x24xf32, #tpsp.idx<s@dp, v>>
!p = tensor<24x12xf32, #tpsp.idx<v, d | sum@dp>>
func.func @sliced(%t: !t, %g: !x) -> !table {
  %p = tpsp.einsum %t, %g : (!t, !x) -> !p
  %y = tpsp.reshard %p : !p -> !table
  return %y : !table
}
