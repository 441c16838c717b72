// RUN: split-file %s %t
// RUN: not tpsp-opt %t/f.mlir --tpsp-set-extents="extent=z=4" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: f.mlir:8:1: error: {{.*}}the program has no index 'z'; its indices are b, s, k, t
// RUN: not tpsp-opt %t/f.mlir --tpsp-set-extents="extent=s" 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not tpsp-opt %t/f.mlir --tpsp-set-extents="extent=s=0" 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not tpsp-opt %t/f.mlir --tpsp-set-extents="extent=s=x" 2>&1 | FileCheck %s --check-prefix=MALFORMED
// MALFORMED: error: {{.*}}expected index=extent with an extent of at least 1, not 's
// RUN: not tpsp-opt %t/f.mlir --tpsp-set-extents="extent=s=8,t=4" 2>&1 | FileCheck %s --check-prefix=FAMILY
// FAMILY: error: {{.*}}index 't' is renamed to one that is to have extent 8, and so cannot have 4
// RUN: not tpsp-opt %t/f.mlir --tpsp-set-extents="extent=s=7" 2>&1 | FileCheck %s --check-prefix=UNEVEN
// UNEVEN: f.mlir:{{[0-9]+}}:{{.*}}error: {{.*}}index 's'{{.*}}has extent 7, which its axes (tp: 2 ranks) do not divide

// Scores are divided by the root of the extent they are summed over.
// RUN: not tpsp-opt %t/f.mlir --tpsp-set-extents="extent=k=9" 2>&1 | FileCheck %s --check-prefix=SCALE
// SCALE: f.mlir:14:{{.*}}error: {{.*}}the factor 2.500000e-01 is of index 'k' with extent 16; write the one of 9 into the program, too
// RUN: not tpsp-opt %t/a.mlir --tpsp-set-extents="extent=k=9" 2>&1 | FileCheck %s --check-prefix=ATTENTION
// ATTENTION: a.mlir:5:{{.*}}error: {{.*}}the factor 2.500000e-01 is of index 'k' with extent 16
// RUN: tpsp-opt %t/a.mlir --tpsp-set-extents="extent=b=9,k=16" -o /dev/null

// RUN: not tpsp-opt %t/two.mlir --tpsp-set-extents="extent=d=4" 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: {{.*}}index 'd' has extents 8 and 3; give what is not the same index another name
// RUN: not tpsp-opt %t/below.mlir --tpsp-set-extents="extent=v=8" 2>&1 | FileCheck %s --check-prefix=BELOW
// BELOW: below.mlir:4:{{.*}}error: {{.*}}tpsp.below = 10 is of an index of extent 16; write a bound of at most 8
// RUN: tpsp-opt %t/below.mlir --tpsp-set-extents="extent=v=10" -o /dev/null
// RUN: not tpsp-opt %t/split.mlir --tpsp-set-extents="extent=e=9" 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT: split.mlir:4:{{.*}}error:

//--- f.mlir
tpsp.mesh @mesh <tp = 2>
!q = tensor<16x4x16xf32, #tpsp.idx<b, s@tp, k>>
!k = tensor<16x4x16xf32, #tpsp.idx<b, t@tp, k>>
!p = tensor<16x4x4xf32, #tpsp.idx<b, s, t, ?>>



func.func @f(%q: !q) -> !p {
  %k = tpsp.rename %q : !q -> !k


  %p = tpsp.einsum %q, %k : (!q, !k) -> !p
  %e = tpsp.neg %p : !p
  %w = tpsp.softmax %e {over = "t", scale = 0.25} : !p
  return %w : !p
}

//--- a.mlir
!q = tensor<16x4x16xf32, #tpsp.idx<b, s, k>>
!k = tensor<16x4x16xf32, #tpsp.idx<b, t, k>>
func.func @f(%q: !q, %k: !k) -> !q {

  %o = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", scale = 0.25} : (!q, !k, !k) -> !q
  return %o : !q
}

//--- two.mlir
func.func @f(%x: tensor<8xf32, #tpsp.idx<d>>, %y: tensor<3xf32, #tpsp.idx<d>>) {
  return
}

//--- below.mlir
!i = tensor<4xi32, #tpsp.idx<s>>
!t = tensor<16x8xf32, #tpsp.idx<v, d>>
!x = tensor<4x8xf32, #tpsp.idx<s, d>>
func.func @f(%i: !i {tpsp.below = 10}, %t: !t) -> !x {
  %x = tpsp.embedding %i, %t {vocabulary = "v"} : (!i, !t) -> !x
  return %x : !x
}

//--- split.mlir
!x = tensor<4x8xf32, #tpsp.idx<s, e>>
!y = tensor<4x4x2xf32, #tpsp.idx<s, h, k>>
func.func @f(%x: !x) -> !y {
  %y = tpsp.split %x : !x -> !y
  return %y : !y
}
