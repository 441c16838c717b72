// Extents of an index, and of all indices that change with it, are written to
// the module. Types are not changed.
// RUN: split-file %s %t
// RUN: tpsp-opt %t/f.mlir --tpsp-set-padding="pad=v=8" | FileCheck %s --check-prefix=ONE
// ONE: module attributes {tpsp.padding = {v = 16 : i64}}
// ONE: tensor<11x12xf32, #tpsp.idx<v, e>>

// The queries' index goes with the keys', and e = (h, k) with h; so h does with
// e.
// RUN: tpsp-opt %t/f.mlir --tpsp-set-padding="pad=s=4" | FileCheck %s --check-prefix=FAMILY
// FAMILY: tpsp.padding = {s = 8 : i64, t = 8 : i64}
// RUN: tpsp-opt %t/f.mlir --tpsp-set-padding="pad=h=4,v=11" | FileCheck %s --check-prefix=MAJOR
// RUN: tpsp-opt %t/f.mlir --tpsp-set-padding="pad=e=16" | FileCheck %s --check-prefix=MAJOR
// RUN: tpsp-opt %t/f.mlir --tpsp-set-padding="pad=e=16,h=2" | FileCheck %s --check-prefix=MAJOR
// MAJOR: tpsp.padding = {e = 16 : i64, h = 4 : i64}

// q = (g, r, k), so a g more is r k = 6 more of q.
// RUN: tpsp-opt %t/three.mlir --tpsp-set-padding="pad=g=8" | FileCheck %s --check-prefix=THREE
// RUN: tpsp-opt %t/three.mlir --tpsp-set-padding="pad=q=48" | FileCheck %s --check-prefix=THREE
// THREE: tpsp.padding = {g = 8 : i64, q = 48 : i64}

// Indices that need no padding are left out.
// RUN: tpsp-opt %t/f.mlir --tpsp-set-padding="pad=v=11,k=4" | FileCheck %s --check-prefix=NONE
// NONE-NOT: tpsp.padding

// Axes divide the larger extents.
// RUN: tpsp-opt %t/f.mlir --tpsp-set-padding="pad=h=8" --tpsp-set-mesh="mesh=tp=8" -o /dev/null
// RUN: not tpsp-opt %t/f.mlir --tpsp-set-padding="pad=h=4" --tpsp-set-mesh="mesh=tp=8" 2>&1 | FileCheck %s --check-prefix=UNEVEN
// UNEVEN: error: {{.*}}index 'h' of {{.*}} has extent 4, which its axes (tp: 8 ranks) do not divide; the smallest extent that works: 8; or pad it: --pad h=8

// RUN: not tpsp-opt %t/f.mlir --tpsp-set-padding="pad=z=4" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: {{.*}}the program has no index 'z'; its indices are
// RUN: not tpsp-opt %t/f.mlir --tpsp-set-padding="pad=v" 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not tpsp-opt %t/f.mlir --tpsp-set-padding="pad=v=0" 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not tpsp-opt %t/f.mlir --tpsp-set-padding="pad=v=99999999999999999999" 2>&1 | FileCheck %s --check-prefix=MALFORMED
// MALFORMED: error: {{.*}}expected index=multiple with a multiple from 1 to 4294967296, not 'v
// RUN: not tpsp-opt %t/f.mlir --tpsp-set-padding="pad=k=8" 2>&1 | FileCheck %s --check-prefix=MINOR
// MINOR: f.mlir:10:{{.*}}error: index 'k' is padded (4 to 8) and is a minor part of a merged index, whose positions would move; pad the part before it instead
// RUN: not tpsp-opt %t/f.mlir --tpsp-set-padding="pad=e=7" 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: f.mlir:10:{{.*}}error: index 'e' has 4 positions for each of 'h', which 14 positions are no multiple of; pad 'h', or 'e' to a multiple of 4
// RUN: not tpsp-opt %t/f.mlir --tpsp-set-padding="pad=h=4,e=24" 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: error: {{.*}}index 'e' has 16 positions with what it belongs to, and would have 24; pad one of the two
// RUN: not tpsp-opt %t/two.mlir --tpsp-set-padding="pad=d=4" 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: {{.*}}index 'd' has extents 8 and 3; give what is not the same index another name

// An attribute that something else has written.
// RUN: not tpsp-opt %t/fewer.mlir --tpsp-pad-extents 2>&1 | FileCheck %s --check-prefix=FEWER
// FEWER: error: {{.*}}tpsp.padding gives index 'd' 3 positions, fewer than the program's 8
// RUN: not tpsp-opt %t/unit.mlir --tpsp-pad-extents 2>&1 | FileCheck %s --check-prefix=UNIT
// UNIT: error: {{.*}}tpsp.padding is a dictionary of extents, such as {v = 50264}

//--- f.mlir
tpsp.mesh @mesh <tp = 3>
!w = tensor<11x12xf32, #tpsp.idx<v, e>>
!x = tensor<7x12xf32, #tpsp.idx<s, e@tp>>
!h = tensor<7x3x4xf32, #tpsp.idx<s, h@tp, k>>
!t = tensor<7x3x4xf32, #tpsp.idx<t, h@tp, k>>
!y = tensor<7x11xf32, #tpsp.idx<s, v>>

func.func @f(%x: !x, %w: !w) -> (!t, !y) {
  // (1)
  %h = tpsp.split %x : !x -> !h
  %t = tpsp.rename %h : !h -> !t
  %y = tpsp.einsum %w, %x : (!w, !x) -> !y
  return %t, %y : !t, !y
}

//--- three.mlir
tpsp.program <q = 30, d = 7, g = 5, r = 2, k = 3> {
func @f(%w: [q, d]) -> [g, r, k, d] {
  %h = split %w -> [g, r, k, d]
  return %h
}
}

//--- two.mlir
func.func @f(%x: tensor<8xf32, #tpsp.idx<d>>, %y: tensor<3xf32, #tpsp.idx<d>>) {
  return
}

//--- fewer.mlir
module attributes {tpsp.padding = {d = 3 : i64}} {
  func.func @f(%x: tensor<8xf32, #tpsp.idx<d>>) {
    return
  }
}

//--- unit.mlir
module attributes {tpsp.padding} {
  func.func @f(%x: tensor<8xf32, #tpsp.idx<d>>) {
    return
  }
}
