// A mask equals the unsharded program's, element for element, on every mesh and
// with any order of axes: the files are equal, byte for byte. A dropout of ones
// is its mask, scaled.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --mesh a=1,b=1 --save-all %t.whole --quiet
// RUN: tpsp-run %s --mesh a=4,b=1 --save-all %t.rows --quiet
// RUN: tpsp-run %s --mesh a=1,b=2 --save-all %t.columns --quiet
// RUN: tpsp-run %s --mesh a=2,b=4 --save-all %t.both --quiet
// RUN: cmp %t.whole %t.rows
// RUN: cmp %t.whole %t.columns
// RUN: cmp %t.whole %t.both
// RUN: tpsp-run %s --mesh a=2,b=2 --grad --verify --quiet
// RUN: tpsp-run %s --mesh a=2,b=2 --grad --verify --quiet --keep-masks
// Another seed is another mask.
// RUN: sed 's/seed = 77/seed = 78/' %s > %t.mlir
// RUN: tpsp-run %t.mlir --mesh a=1,b=1 --save-all %t.other --quiet
// RUN: not cmp -s %t.whole %t.other

tpsp.mesh @mesh <a = 4, b = 2>
!x = tensor<3x20x56xf32, #tpsp.idx<n, s@a, d@b>>
!y = tensor<3x20x56xf32, #tpsp.idx<n, s@b, d@a>>
func.func @f(%x: !x) -> (!x, !y) {
  %u = tpsp.dropout %x {rate = 0.3, seed = 77} : !x
  %z = tpsp.reshard %x : !x -> !y
  %v = tpsp.dropout %z {rate = 0.3, seed = -1} : !y
  return %u, %v : !x, !y
}
