// tpsp-opt -o writes a whole file or none, and reports a file that it cannot write.
// RUN: rm -rf %t && mkdir %t
// RUN: echo kept > %t/file
// RUN: echo wrong > %t/wrong.mlir
// RUN: not tpsp-opt %t/wrong.mlir -o %t/file 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: custom op 'wrong' is unknown
// RUN: FileCheck %s --check-prefix=KEPT --input-file %t/file
// KEPT: kept
// RUN: tpsp-opt %s -o %t/file
// RUN: tpsp-opt %s > %t/printed
// RUN: diff %t/file %t/printed
// RUN: not tpsp-opt %s -o /dev/full 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: {{^}}tpsp-opt: cannot write '/dev/full': No space left on device{{$}}
// RUN: not tpsp-opt %s -o %t/none/file 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: {{^}}tpsp-opt: cannot write '{{.*}}/none/file': No such file or directory{{$}}
// RUN: not tpsp-opt %s 2>&1 > /dev/full | FileCheck %s --check-prefix=STDOUT
// STDOUT: {{^}}tpsp-opt: standard output cannot be written: No space left on device{{$}}
// RUN: not tpsp-run %s --backend trace 2>&1 > /dev/full | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}tpsp-run: standard output cannot be written: No space left on device{{$}}
// REQUIRES: tpsp-run

tpsp.mesh @mesh <tp = 2 : model>
!x = tensor<4x6xf32, #tpsp.idx<s@tp, d>>
func.func @f(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}
