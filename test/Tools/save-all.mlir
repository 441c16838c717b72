// Every argument, result and gradient in one file; what a file cannot hold is
// said before the run.
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

// RUN: %S/Inputs/exits 1 tpsp-run %t/partial.mlir --save-all %t/p.st 2>&1 | FileCheck %s --check-prefix=PARTIAL
// PARTIAL: tpsp-run: output 'y' [s | sum@tp] is a sum still to be taken; only whole values are written to files
// RUN: not ls %t/p.st

// RUN: %S/Inputs/exits 1 tpsp-run %t/twice.mlir --save-all %t/t.st 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: tpsp-run: two tensors are called 'x'; in a file names must differ

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
tpsp.mesh @mesh <tp = 2>
!x = tensor<4x8xf32, #tpsp.idx<s, e@tp>>
!p = tensor<4xf32, #tpsp.idx<s | sum@tp>>
func.func @f(%x: !x {tpsp.name = "x"}) -> !p {
  %y = tpsp.reduce %x : (!x) -> !p
  return %y : !p
}

//--- twice.mlir
!x = tensor<4xf32, #tpsp.idx<s>>
func.func @f(%x: !x {tpsp.name = "x"}, %y: !x {tpsp.name = "x"}) -> !x {
  %z = tpsp.add %x, %y : !x
  return %z : !x
}
