// Every argument, result and gradient in one file. Tensors that a file cannot
// hold are reported before the run.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && split-file %s %t

// RUN: tpsp-run %t/good.mlir --grad --quiet --save-all %t/four.st | count 0
// RUN: tpsp-run %t/good.mlir --grad --quiet --mesh tp=1 --save-all %t/one.st
// The header's names, in the file's order: the same on every mesh.
// RUN: head -c 600 %t/four.st | strings | FileCheck %s
// RUN: head -c 600 %t/one.st | strings | FileCheck %s
// CHECK: "g[table]":{"dtype":"F32","shape":[12,3]
// CHECK-SAME: "g[x]"
// CHECK-SAME: "ids":{"dtype":"I32","shape":[8]
// CHECK-SAME: "table"
// CHECK-SAME: "x"

// A partial tensor is saved complete, with the ranks' summands combined, as on
// one rank. There are two summands, so that their order does not matter.
// RUN: tpsp-run %t/partial.mlir --quiet --save-all %t/parts.st
// RUN: tpsp-run %t/partial.mlir --quiet --mesh tp=1,dp=1 --save-all %t/whole.st
// RUN: cmp %t/parts.st %t/whole.st

// A result may have an argument's name, but not in a file.
// RUN: %S/Inputs/exits 1 tpsp-run %t/twice.mlir --save-all %t/t.st 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: tpsp-run: two tensors are called 'x'; in a file names must differ: give one of them another tpsp.name{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %t/good.mlir --backend trace --save-all %t/t.st 2>&1 | FileCheck %s --check-prefix=TRACE
// TRACE: --save-all needs a run

//--- good.mlir
tpsp.mesh @mesh <tp = 4 : model>
!ids = tensor<8xi32, #tpsp.idx<s>>
!w = tensor<12x3xf32, #tpsp.idx<v@tp, d>>
!x = tensor<8x3xf32, #tpsp.idx<s@tp, d>>
func.func @f(%ids: !ids {tpsp.name = "ids"}, %w: !w {tpsp.param = "table"}) -> !x {
  %x = tpsp.embedding %ids, %w {vocabulary = "v"} : (!ids, !w) -> !x
  return %x : !x
}

//--- partial.mlir
tpsp.mesh @mesh <tp = 2, dp = 3>
!x = tensor<6x2xf32, #tpsp.idx<s@dp, e@tp>>
!b = tensor<5x2xbf16, #tpsp.idx<q, e@tp>>
!p = tensor<6xf32, #tpsp.idx<s@dp | sum@tp>>
!m = tensor<6xf32, #tpsp.idx<s@dp | max@tp>>
!q = tensor<5xbf16, #tpsp.idx<q | sum@tp>>
func.func @f(%x: !x {tpsp.name = "x"}, %b: !b {tpsp.name = "b"})
    -> (!p {tpsp.name = "sum"}, !m {tpsp.name = "most"}, !q {tpsp.name = "half"}) {
  %y = tpsp.reduce %x : (!x) -> !p
  %z = tpsp.reduce %x {kind = "max"} : (!x) -> !m
  %h = tpsp.reduce %b : (!b) -> !q
  return %y, %z, %h : !p, !m, !q
}

//--- twice.mlir
!x = tensor<4xf32, #tpsp.idx<s>>
func.func @f(%x: !x {tpsp.name = "x"}) -> (!x {tpsp.name = "x"}) {
  %z = tpsp.exp %x : !x
  return %z : !x
}
