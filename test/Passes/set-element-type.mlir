// RUN: tpsp-opt %s --tpsp-set-element-type=dtype=bf16 | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: tpsp-opt %s --tpsp-set-element-type=dtype=f16 | FileCheck %s --check-prefixes=CHECK,F16
// RUN: tpsp-opt %s --tpsp-set-element-type=dtype=f32 | FileCheck %s --check-prefixes=CHECK,F32
// RUN: not tpsp-opt %s --tpsp-set-element-type=dtype=fp8 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: for the --dtype option: no dtype is called 'fp8': f64, f32, bf16 or f16

// Arguments, results and everything between change, but not integers, and not
// tensors without index names.
// BF16: func.func @f(%{{.+}}: tensor<4xbf16, #tpsp.idx<d>>, %{{.+}}: tensor<4xi32, #tpsp.idx<d>>, %{{.+}}: tensor<4xf64>) -> tensor<4xbf16, #tpsp.idx<d>>
// BF16: tpsp.exp %{{.+}} : tensor<4xbf16, #tpsp.idx<d>>
// F16: func.func @f(%{{.+}}: tensor<4xf16, #tpsp.idx<d>>, %{{.+}}: tensor<4xi32, #tpsp.idx<d>>, %{{.+}}: tensor<4xf64>) -> tensor<4xf16, #tpsp.idx<d>>
// F16: tpsp.exp %{{.+}} : tensor<4xf16, #tpsp.idx<d>>
// F32: func.func @f(%{{.+}}: tensor<4xf32, #tpsp.idx<d>>, %{{.+}}: tensor<4xi32, #tpsp.idx<d>>, %{{.+}}: tensor<4xf64>) -> tensor<4xf32, #tpsp.idx<d>>
// F32: tpsp.exp %{{.+}} : tensor<4xf32, #tpsp.idx<d>>
// CHECK: return
!x = tensor<4xf64, #tpsp.idx<d>>
func.func @f(%x: !x, %i: tensor<4xi32, #tpsp.idx<d>>, %t: tensor<4xf64>) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}
