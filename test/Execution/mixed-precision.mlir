// Operations of two precisions run in one kernel, each in its own. A value
// converted to f32 is rounded to it; one converted back is not.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify --quiet
// RUN: tpsp-run %s --grad --quiet --emit %t.so
// RUN: tpsp-run %t.so --verify --quiet
// RUN: tpsp-opt %s --tpsp-pipeline | FileCheck %s

// CHECK-LABEL: func.func private @kernel0
// CHECK: arith.truncf {{.*}} : f64 to f32
// CHECK: math.tanh {{.*}} : f32
// CHECK: arith.extf {{.*}} : f32 to f64

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
