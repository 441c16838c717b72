// Bytes are added up in 64 bits. A program whose sums might not fit is refused, with its largest tensor.
// REQUIRES: tpsp-run
// RUN: not tpsp-opt %s --tpsp-explain 2>&1 | FileCheck %s
// RUN: not tpsp-opt %s --tpsp-formulas 2>&1 | FileCheck %s
// RUN: %S/Inputs/exits 1 tpsp-run %s --grad --simulate --hardware h100-sxm 2>&1 | FileCheck %s
// RUN: %S/Inputs/exits 1 tpsp-plan %s --hardware h100-sxm --devices 2 --seconds 0 --forget-placements 2>&1 | FileCheck %s
// CHECK: too-many-bytes.mlir:{{[0-9]+}}:{{[0-9]+}}: error: the tensors of the program have 2.9 EiB together, and tpsp counts up to 128.0 PiB; the largest is %x with 1.0 PiB, so make its extents smaller

// A rank's bytes are checked again, with gradients and additions of passes.
// RUN: not tpsp-opt %s --tpsp-inline-calls --tpsp-set-mesh=mesh=tp=1 --tpsp-partition --convert-tpsp-to-plan 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: error: the tensors of a rank's step have 2.9 EiB together, and tpsp counts up to 2.0 EiB; the largest is {{.*}} with 1.0 PiB

// Below that, quantities are said as they are.
// RUN: sed 's/repeat 3000/repeat 3/' %s > %t.mlir
// RUN: tpsp-opt %t.mlir --tpsp-explain=extents=true | FileCheck %s --check-prefix=FEW
// FEW: 1.0 PiB

tpsp.program <b = 16777216, d = 16777216> {
mesh @mesh <tp = 2 : model>
func private @layer(%x: [b, d]) -> [b, d] {
  %y = gelu %x
  return %y
}
func @f(%x: [b, d]) -> [b, d] {
  %y = repeat 3000 @layer(%x) as "l#"
  return %y
}
}
