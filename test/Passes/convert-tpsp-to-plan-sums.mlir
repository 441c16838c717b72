// The types of sums while a kernel runs.
// RUN: tpsp-opt %s --split-input-file --convert-tpsp-to-plan | FileCheck %s
// RUN: tpsp-opt %s --split-input-file --convert-tpsp-to-plan=wide-sums=false | FileCheck %s --check-prefix=GPU
// GPU-NOT: f64

// Across rows in f64, whatever is stored.
// CHECK-LABEL: func.func private @kernel0_reduce(
// CHECK: memref.alloca({{.*}}) : memref<?xf64>
// CHECK: arith.addf %{{.+}}, %{{.+}} : f64
// CHECK: arith.truncf %{{.+}} : f64 to f32
// CHECK: arith.truncf %{{.+}} : f32 to bf16
!x = tensor<6x128xbf16, #tpsp.idx<b, d>>
!d = tensor<128xbf16, #tpsp.idx<d>>
func.func @columns(%x: !x) -> !d {
  %z = tpsp.reduce %x {kind = "sum"} : (!x) -> !d
  return %z : !d
}

// -----

// A head's terms are not next to each other.
// CHECK-LABEL: func.func private @kernel0_einsum(
// CHECK: memref.alloca() : memref<f64>
// CHECK: arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK: arith.addf %{{.+}}, %{{.+}} : f64
!x = tensor<6x5x8xf32, #tpsp.idx<s, h, p>>
!h = tensor<5xf32, #tpsp.idx<h>>
func.func @heads(%x: !x, %y: !x) -> !h {
  %z = tpsp.einsum %x, %y : (!x, !x) -> !h
  return %z : !h
}

// -----

// CHECK-LABEL: func.func private @kernel0_reduce(
// CHECK: arith.addf %{{.+}}, %{{.+}} : f64
!x = tensor<6x128xf32, #tpsp.idx<b, d>>
!n = tensor<f32, #tpsp.idx<>>
func.func @all(%x: !x) -> !n {
  %z = tpsp.reduce %x {kind = "sum"} : (!x) -> !n
  return %z : !n
}

// -----

// Along a row in f32: it is summed in lanes. And a maximum loses nothing.
// CHECK-LABEL: func.func private @kernel0_reduce(
// CHECK-NOT: f64
// CHECK-LABEL: plan.program @rows
!x = tensor<6x128xf32, #tpsp.idx<b, d>>
!b = tensor<6xf32, #tpsp.idx<b>>
func.func @rows(%x: !x) -> !b {
  %z = tpsp.reduce %x {kind = "sum"} : (!x) -> !b
  return %z : !b
}

// -----

// CHECK-LABEL: func.func private @kernel0_reduce(
// CHECK-NOT: f64
// CHECK-LABEL: plan.program @maxima
!x = tensor<6x128xf32, #tpsp.idx<b, d>>
!d = tensor<128xf32, #tpsp.idx<d>>
func.func @maxima(%x: !x) -> !d {
  %z = tpsp.reduce %x {kind = "max"} : (!x) -> !d
  return %z : !d
}
