// The role of an axis alone tells TP+SP from FSDP: one two-layer program with
// its activations and its weights on one axis, and nothing else but the word
// after the axis. On a model axis the activations move, on a data axis the
// weights, and without a role the program is refused with both ways priced.
// REQUIRES: tpsp-run

// RUN: sed -e 's,//.*,,' -e 's/ROLE/model/' %s > %t.model.mlir
// RUN: sed -e 's,//.*,,' -e 's/ROLE/data/' %s > %t.data.mlir
// RUN: sed -e 's,//.*,,' -e 's/ : ROLE//' %s > %t.none.mlir
// RUN: sed 's/: model/: data/' %t.model.mlir | diff - %t.data.mlir

// RUN: tpsp-run %t.model.mlir --grad --verify | FileCheck %s --check-prefix=MODEL
// RUN: tpsp-run %t.data.mlir --grad --verify | FileCheck %s --check-prefix=DATA
// RUN: tpsp-run %t.model.mlir --mesh a=8 --dtype bf16 --grad --verify --quiet
// RUN: tpsp-run %t.model.mlir --mesh a=8 --dtype f16 --grad --verify --quiet
// RUN: tpsp-run %t.data.mlir --mesh a=8 --dtype bf16 --grad --verify --quiet
// RUN: tpsp-run %t.data.mlir --mesh a=8 --dtype f16 --grad --verify --quiet
// RUN: not tpsp-run %t.none.mlir --grad 2>&1 | FileCheck %s --check-prefix=NONE

// MODEL: phase kind axes
// MODEL-NEXT: forward all_gather a t 6.0 KiB x
// MODEL-NEXT: forward reduce_scatter a t 6.0 KiB z
// MODEL-NEXT: backward all_gather a t 6.0 KiB g[z]
// MODEL-NEXT: backward all_gather a t 6.0 KiB x
// MODEL-NEXT: backward reduce_scatter a t 6.0 KiB g[x]
// MODEL-EMPTY:
// MODEL: all within tolerance
// DATA: phase kind axes
// DATA-NEXT: forward all_gather a e 12.0 KiB w0
// DATA-NEXT: forward all_gather a e 12.0 KiB w1
// DATA-NEXT: backward reduce_scatter a e 12.0 KiB g[w1]
// DATA-NEXT: backward all_gather a e 12.0 KiB w1
// DATA-NEXT: backward reduce_scatter a e 12.0 KiB g[w0]
// DATA-NEXT: backward all_gather a e 12.0 KiB w0
// DATA-EMPTY:
// DATA: all within tolerance

// NONE: error: {{.*}}axis @a is on different indices of its operands and the result is not placed
// NONE: note: with the result on e@a, as %w0 has it: 6.0 KiB per rank; ': model' chooses this
// NONE: note: with the result on t@a, as %x has it: 12.0 KiB per rank; ': data' chooses this

tpsp.mesh @mesh <a = 4 : ROLE>

!x  = tensor<64x32xf32, #tpsp.idx<t@a, d>>
!y  = tensor<64x128xf32, #tpsp.idx<t, e, ?>>
!w0 = tensor<128x32xf32, #tpsp.idx<e@a, d>>
!w1 = tensor<32x128xf32, #tpsp.idx<d, e@a>>

func.func @mlp(%x: !x, %w0: !w0 {tpsp.param = "w0"},
               %w1: !w1 {tpsp.param = "w1"}) -> !x {
  %y = tpsp.einsum %w0, %x : (!w0, !x) -> !y
  %v = tpsp.gelu %y : !y
  %z = tpsp.einsum %w1, %v : (!w1, !y) -> !x
  return %z : !x
}
