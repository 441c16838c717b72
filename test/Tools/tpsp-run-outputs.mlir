// Outputs do not replace inputs or each other, and an output that cannot be
// written is an error. The size that files may have leaves room for the 1 KiB
// file in /dev/shm by which LLVM's OpenMP marks a process: an empty one stays,
// and ends a later process with the same number (SIGBUS).
// REQUIRES: tpsp-run
// RUN: cp %s %t.mlir
// RUN: not tpsp-run %t.mlir --quiet --report %t.mlir 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: diff %s %t.mlir
// RUN: not tpsp-run %s --quiet --report %t.out --trace %t.out 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not sh -c 'tpsp-run %s > /dev/full' 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: not sh -c 'ulimit -f 4; tpsp-run %s --quiet --save %t.st' 2>&1 | FileCheck %s --check-prefix=LIMIT

// INPUT: --report would replace '{{.*}}', which is read
// BOTH: --report and --trace are one file
// FULL: standard output cannot be written: No space left on device
// LIMIT: File too large
!w = tensor<64x64xf32, #tpsp.idx<e, d>>
!x = tensor<64xf32, #tpsp.idx<d>>
!y = tensor<64xf32, #tpsp.idx<e>>
func.func @f(%x: !x {tpsp.name = "x"}, %w: !w {tpsp.param = "w"}) -> !y {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !y
  return %y : !y
}
