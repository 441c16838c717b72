// Numbers need neither a point nor a type where an f64 is expected.
// RUN: tpsp-opt %s | tpsp-opt | FileCheck %s
// RUN: tpsp-opt %s --verify-roundtrip

!x = tensor<2x8xf32, #tpsp.idx<s, d>>
!g = tensor<8xf32, #tpsp.idx<d>>

// CHECK-LABEL: @numbers
func.func @numbers(%x: !x, %g: !g) {
  // CHECK: tpsp.scale %{{.*}} {factor = 2.000000e+00 : f64}
  %0 = tpsp.scale %x {factor = 2} : !x
  // CHECK: tpsp.scale %{{.*}} {factor = -2.000000e+00 : f64}
  %1 = tpsp.scale %x {factor = -2} : !x
  // CHECK: tpsp.scale %{{.*}} {factor = 2.000000e+00 : f64}
  %2 = tpsp.scale %x {factor = 2.0 : f64} : !x
  // CHECK: tpsp.rms_norm %{{.*}}, %{{.*}} {eps = 9.9999999999999995E-7 : f64}
  %3 = tpsp.rms_norm %x, %g {eps = 1e-6} : (!x, !g) -> !x
  // CHECK: tpsp.rms_norm %{{.*}}, %{{.*}} : (
  %4 = tpsp.rms_norm %x, %g {eps = 1e-5} : (!x, !g) -> !x
  // CHECK: tpsp.shift %{{.*}} {by = 3.000000e+02 : f64}
  %5 = tpsp.shift %x {by = 3e2} : !x
  // CHECK: tpsp.shift %{{.*}} {by = 3.000000e+02 : f64}
  %6 = tpsp.shift %x {by = 3E+2} : !x
  // CHECK: tpsp.shift %{{.*}} {by = -1.500000e-03 : f64}
  %7 = tpsp.shift %x {by = -1.5e-3} : !x
  // An integer stays one where an integer is expected.
  // CHECK: tpsp.dropout %{{.*}} {rate = 0.000000e+00 : f64, seed = 7 : i64}
  %8 = tpsp.dropout %x {rate = 0, seed = 7} : !x
  // CHECK: tpsp.rope %{{.*}} {feature = "d", inverse, position = "s", theta = 1.000000e+02 : f64}
  %9 = tpsp.rope %x {position = "s", feature = "d", theta = 100, inverse} : !x
  // Marks are not the operation's, and keep their types.
  // CHECK: tpsp.neg %{{.*}} {tpsp.origin = #tpsp.origin<part = 0>}
  %10 = tpsp.neg %x {tpsp.origin = #tpsp.origin<part = 0>} : !x
  // CHECK: tpsp.softmax %{{.*}} {over = "d"} :
  %11 = tpsp.softmax %x {over = "d", scale = 1} : !x
  return
}
