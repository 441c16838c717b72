// The gradient of one block of many, which other ranks may have.
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: sed 's/dp = 1/dp = 2/; s/tp = 1/tp = 3/' %s > %t.mlir
// RUN: tpsp-run %t.mlir --grad --verify | FileCheck %s
// CHECK: all within tolerance

// Its size does not depend on the number of blocks.
// RUN: sed 's/n = 9/n = 90000/' %s > %t.mlir
// RUN: tpsp-opt %t.mlir --tpsp-differentiate | FileCheck %s --check-prefix=SHORT
// SHORT: tpsp.stack %{{[^,]*}} {
// SHORT: tpsp.pad
tpsp.program <b = 4, n = 9, d = 5> {
mesh @mesh <dp = 1 : data, tp = 1 : model>

func @one(%x: [b@dp, n@tp, d], param %w: [n, d]) -> [b@dp, d] {
  %y = mul %x, %w -> [b, n, d, ?]
  %z = take %y {index = "n", at = 7}
  return %z
}
}
