// Functions that are no tpsp programs: refused where they are written.
// REQUIRES: tpsp-run
// RUN: split-file %s %t

// RUN: %S/Inputs/exits 1 tpsp-run %t/plain.mlir 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: %S/Inputs/exits 1 tpsp-run %t/plain.mlir --grad 2>&1 | FileCheck %s --check-prefix=PLAIN
// PLAIN: plain.mlir:1:14: error: not a tensor with #tpsp.idx subscripts: 'tensor<3xf32>'; write its index names: tensor<4x8xf32, #tpsp.idx<s, d>>

// RUN: %S/Inputs/exits 1 tpsp-run %t/scalar.mlir 2>&1 | FileCheck %s --check-prefix=SCALAR
// SCALAR: scalar.mlir:1:14: error: not a tensor with #tpsp.idx subscripts: 'i32'

// RUN: %S/Inputs/exits 1 tpsp-run %t/integers.mlir 2>&1 | FileCheck %s --check-prefix=INTEGERS
// RUN: %S/Inputs/exits 1 tpsp-run %t/integers.mlir --grad 2>&1 | FileCheck %s --check-prefix=INTEGERS
// INTEGERS: integers.mlir:3:8: error: 'tpsp.exp' op operand #0 has element type 'i32'; 'tpsp.exp' computes on floating-point numbers there

// RUN: %S/Inputs/exits 1 tpsp-run %t/narrow.mlir 2>&1 | FileCheck %s --check-prefix=NARROW
// NARROW: narrow.mlir:2:14: error: programs compute in f32, bf16, f16 or f64, with positions in i32 and masks in i8, not in 'f8E5M2'
// --dtype stores it otherwise.
// RUN: tpsp-run %t/narrow.mlir --dtype f16 --grad --verify --quiet

// RUN: %S/Inputs/exits 1 tpsp-run %t/foreign.mlir 2>&1 | FileCheck %s --check-prefix=FOREIGN
// FOREIGN: foreign.mlir:3:8: error: 'arith.negf' op is no operation of tpsp; a program is made of those

// RUN: %S/Inputs/exits 1 tpsp-run %t/unplaced.mlir 2>&1 | FileCheck %s --check-prefix=UNPLACED
// UNPLACED: unplaced.mlir:2:14: error: argument #0 is not placed ('?'); inputs and parameters are placed by who writes the program

//--- plain.mlir
func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}

//--- scalar.mlir
func.func @f(%x: i32) -> i32 {
  return %x : i32
}

//--- integers.mlir
!x = tensor<4xi32, #tpsp.idx<d>>
func.func @f(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}

//--- narrow.mlir
!x = tensor<4xf8E5M2, #tpsp.idx<d>>
func.func @f(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}

//--- foreign.mlir
!x = tensor<4xf32, #tpsp.idx<d>>
func.func @f(%x: !x) -> !x {
  %y = arith.negf %x : !x
  return %y : !x
}

//--- unplaced.mlir
!x = tensor<4xf32, #tpsp.idx<d, ?>>
func.func @f(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}
