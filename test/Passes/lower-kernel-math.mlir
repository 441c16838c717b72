// RUN: tpsp-opt %s --tpsp-lower-kernel-math | FileCheck %s

// No call of a mathematical library is left. Only operations that the emitter
// marks may be reordered: the terms of a sum.
// CHECK-LABEL: func.func @transcendental
// CHECK-NOT: math.{{exp|tanh|erfc|log|sin|cos}}
// CHECK-NOT: fastmath
// CHECK: arith.addf {{.*}} fastmath<reassoc,contract> : f32
// CHECK-NEXT: return
func.func @transcendental(%x: f32) -> f32 {
  %a = math.exp %x : f32
  %b = math.tanh %a : f32
  %c = math.erfc %b : f32
  %d = math.log %c : f32
  %e = math.sin %d : f32
  %f = math.cos %e : f32
  %g = arith.addf %f, %x : f32
  %h = arith.addf %g, %x fastmath<reassoc,contract> : f32
  return %h : f32
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

// Values stored in bf16 are integers for LLVM, which otherwise calls a library
// to keep a bf16 across a branch.
// CHECK-LABEL: func.func @store
// CHECK-SAME: memref<4xi16>
// CHECK-NOT: bf16
// CHECK-DAG: arith.constant 16256 : i16
// CHECK-DAG: arith.constant dense<16384> : vector<4xi16>
// CHECK: return
func.func @store(%x: memref<4xbf16>, %i: index, %is: i1) -> vector<4xbf16> {
  %one = arith.constant 1.0 : bf16
  %two = arith.constant dense<2.0> : vector<4xbf16>
  %a = memref.load %x[%i] : memref<4xbf16>
  %b = arith.extf %a : bf16 to f32
  %c = arith.truncf %b : f32 to bf16
  %d = arith.select %is, %c, %one : bf16
  memref.store %d, %x[%i] : memref<4xbf16>
  return %two : vector<4xbf16>
}

// Comparisons of bf16 are done in f32.
// CHECK-LABEL: func.func @compare
// CHECK-NOT: bf16
// CHECK: arith.cmpf ogt, {{.*}} : f32
// CHECK: return
func.func @compare(%x: bf16, %y: bf16) -> i1 {
  %a = arith.cmpf ogt, %x, %y : bf16
  return %a : i1
}
