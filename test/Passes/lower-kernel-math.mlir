// RUN: tpsp-opt %s --tpsp-lower-kernel-math | FileCheck %s

// No call of a mathematical library is left, and sums may be reordered.
// CHECK-LABEL: func.func @transcendental
// CHECK-NOT: math.{{exp|tanh|erf|log}}
// CHECK: arith.addf {{.*}} fastmath<reassoc,nsz,contract>
func.func @transcendental(%x: f32) -> f32 {
  %a = math.exp %x : f32
  %b = math.tanh %a : f32
  %c = math.erf %b : f32
  %d = math.log %c : f32
  %e = arith.addf %d, %x : f32
  return %e : f32
}

// Infinities and NaNs keep their meaning: a masked score is minus infinity.
// CHECK-LABEL: func.func @infinite
// CHECK-NOT: {{nnan|ninf|<fast>}}
// CHECK: return
func.func @infinite(%x: f32, %y: f32) -> f32 {
  %a = arith.maximumf %x, %y : f32
  %b = arith.subf %a, %y : f32
  return %b : f32
}

// Conversions are integer arithmetic.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: arith.{{extf|truncf}}
// CHECK: arith.shli
// CHECK: return
func.func @narrow(%x: bf16) -> bf16 {
  %a = arith.extf %x : bf16 to f32
  %b = arith.mulf %a, %a : f32
  %c = arith.truncf %b : f32 to bf16
  return %c : bf16
}
