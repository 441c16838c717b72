// Operations of two precisions run in one kernel, each in its own: what is
// converted to f32 is rounded to it, and what is converted back is not.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: tpsp-run %t/converted.mlir --grad --verify --quiet
// RUN: tpsp-run %t/converted.mlir --grad --quiet --emit %t/p.so
// RUN: tpsp-run %t/p.so --verify --quiet
// RUN: tpsp-opt %t/converted.mlir --tpsp-pipeline | FileCheck %s

// Operands of several precisions, of which the widest is computed in; sums of 16
// bits in f32, over ranks, too.
// RUN: tpsp-run %t/operands.mlir --grad --verify --quiet
// RUN: tpsp-run %t/operands.mlir --grad --verify --quiet --mesh tp=5
// RUN: tpsp-run %t/operands.mlir --grad | FileCheck %s --check-prefix=SUM
// SUM: all_reduce {{ *}}tp {{ *}}24 B {{ *}}2 {{ *}}@tp divides d, which is summed away

// CHECK-LABEL: func.func private @kernel0
// CHECK: arith.truncf {{.*}} : f64 to f32
// CHECK: math.tanh {{.*}} : f32
// CHECK: arith.extf {{.*}} : f32 to f64

//--- converted.mlir
tpsp.mesh @mesh <tp = 4 : model>
!x = tensor<2x20xf64, #tpsp.idx<s, d@tp>>
!x32 = tensor<2x20xf32, #tpsp.idx<s, d@tp>>
!x16 = tensor<2x20xbf16, #tpsp.idx<s, d@tp>>
func.func @f(%x: !x {tpsp.name = "x"}, %w: !x {tpsp.param = "w"}) -> (!x, !x, !x16) {
  %a = tpsp.mul %x, %w : !x
  %b = tpsp.convert %a : (!x) -> !x32
  %c = tpsp.tanh %b : !x32
  %d = tpsp.convert %c : (!x32) -> !x
  %e = tpsp.mul %d, %a : !x
  %g = tpsp.convert %e : (!x) -> !x16
  %h = tpsp.square %g : !x16
  %i = tpsp.convert %h : (!x16) -> !x
  %j = tpsp.add %i, %x : !x
  return %e, %j, %h : !x, !x, !x16
}

//--- operands.mlir
tpsp.mesh @mesh <tp = 2>
!h = tensor<6x10xbf16, #tpsp.idx<b, d@tp>>
!f = tensor<6x10xf32, #tpsp.idx<b, d@tp>>
!w = tensor<10xf64, #tpsp.idx<d@tp>>
!r = tensor<6xf32, #tpsp.idx<b>>
!o = tensor<6x10xf32, #tpsp.idx<b, d@tp>>
func.func @f(%x: !h, %y: !f, %w: !w {tpsp.param}) -> (!o, !h, !r, tensor<6x10xf64, #tpsp.idx<b, d@tp>>) {
  %0 = tpsp.mul %x, %y : (!h, !f) -> !o
  %1 = tpsp.sub %y, %x : (!f, !h) -> !h
  %2 = tpsp.reduce %x : !h -> !r
  %3 = tpsp.shift %2 {by = 20} : !r
  %4 = tpsp.div %1, %3 : (!h, !r) -> !h
  %5 = tpsp.mul %4, %w : (!h, !w) -> tensor<6x10xf64, #tpsp.idx<b, d@tp>>
  return %0, %4, %2, %5 : !o, !h, !r, tensor<6x10xf64, #tpsp.idx<b, d@tp>>
}
