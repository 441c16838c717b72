// The function of the module that is run.
// REQUIRES: tpsp-run
// RUN: split-file %s %t

// RUN: %S/Inputs/exits 1 tpsp-run %t/none.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: %S/Inputs/exits 1 tpsp-run %t/declared.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: {{^}}tpsp-run: the module has no function; write one: func.func @name(...){{$}}

// RUN: %S/Inputs/exits 1 tpsp-run %t/two.mlir 2>&1 | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: {{^}}tpsp-run: the module has several functions (twice, half); choose one with --function{{$}}

// RUN: %S/Inputs/exits 1 tpsp-run %t/two.mlir --function third 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: {{^}}tpsp-run: the module has no function 'third'; it has twice, half{{$}}

// A function that others call is not run by itself.
// RUN: %S/Inputs/exits 1 tpsp-run %t/calls.mlir --function twice 2>&1 | FileCheck %s --check-prefix=PRIVATE
// PRIVATE: {{^}}tpsp-run: function 'twice' is private, so it is only called; leave out 'private', or choose f{{$}}
// RUN: sed 's/func.func @f/func.func private @f/' %t/calls.mlir > %t/all-private.mlir
// RUN: %S/Inputs/exits 1 tpsp-run %t/all-private.mlir 2>&1 | FileCheck %s --check-prefix=ALL
// ALL: {{^}}tpsp-run: the module's functions are private (twice, f), so they are only called; leave out 'private' of the one to run{{$}}

// RUN: tpsp-run %t/two.mlir --function half --backend trace --grad | FileCheck %s --check-prefix=CHOSEN
// CHOSEN: kernel {{.*}} at {{.*}}two.mlir:7:

// A called function is part of its caller; private functions are not offered.
// RUN: tpsp-run %t/calls.mlir --grad --quiet --verify

// RUN: %S/Inputs/exits 1 tpsp-run %t/loop.mlir 2>&1 | FileCheck %s --check-prefix=LOOP
// LOOP: loop.mlir:2:1: error: has control flow; tpsp programs are straight-line functions
// LOOP-NOT: see current operation

// RUN: %S/Inputs/exits 1 tpsp-run %t/recursive.mlir 2>&1 | FileCheck %s --check-prefix=RECURSIVE
// RECURSIVE: recursive.mlir:3:8: error: 'func.call' op

//--- none.mlir
tpsp.mesh @mesh <tp = 2>

//--- declared.mlir
func.func private @f(tensor<4xf32, #tpsp.idx<d>>)

//--- two.mlir
!x = tensor<4xf32, #tpsp.idx<d>>
func.func @twice(%x: !x) -> !x {
  %y = tpsp.scale %x {factor = 2.0} : !x
  return %y : !x
}
func.func @half(%x: !x) -> !x {
  %y = tpsp.scale %x {factor = 0.5} : !x
  return %y : !x
}

//--- calls.mlir
!x = tensor<4xf32, #tpsp.idx<d>>
func.func private @twice(%x: !x) -> !x {
  %y = tpsp.scale %x {factor = 2.0} : !x
  return %y : !x
}
func.func @f(%x: !x) -> !x {
  %y = func.call @twice(%x) : (!x) -> !x
  %z = func.call @twice(%y) : (!x) -> !x
  return %z : !x
}

//--- loop.mlir
!x = tensor<4xf32, #tpsp.idx<d>>
func.func @f(%x: !x) -> !x {
  cf.br ^again(%x : !x)
^again(%y: !x):
  cf.br ^again(%y : !x)
}

//--- recursive.mlir
!x = tensor<4xf32, #tpsp.idx<d>>
func.func @f(%x: !x) -> !x {
  %y = func.call @f(%x) : (!x) -> !x
  return %y : !x
}
