// The gradient of a maximum goes to the elements that are it, and is divided
// evenly where several are. Ranks may have parts of the index.
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: sed 's/dp = 1/dp = 2/; s/tp = 1/tp = 3/' %s > %t.mlir
// RUN: tpsp-run %t.mlir --grad --verify | FileCheck %s
// CHECK: all within tolerance
tpsp.program <b = 4, s = 9, d = 5, e = 3> {
mesh @mesh <dp = 1 : data, tp = 1 : model>

func @largest(%x: [b@dp, s@tp, d], param %w: [e, d]) -> ([b@dp, e], [e]) {
  %y = einsum %x, %w -> [b, s, e, ?]
  // Half of them are 0.
  %z = relu %y
  %m = reduce %z {kind = "max"} -> [b@dp, e]
  %all = reduce %m {kind = "max"} -> [e]
  return %m, %all
}
}
