// RUN: tpsp-opt %s --tpsp-set-extents="extent=s=6,b=5" | FileCheck %s --check-prefix=TWO
// RUN: tpsp-opt %s --tpsp-set-extents="extent=t=6" | FileCheck %s --check-prefix=FAMILY
// RUN: tpsp-opt %s --tpsp-set-extents="extent=h=6,e=12" | FileCheck %s --check-prefix=SPLIT
// RUN: tpsp-opt %s --tpsp-set-extents="extent=b=3" | FileCheck %s --check-prefix=SAME
// RUN: tpsp-opt %s --tpsp-set-extents="extent=s=1,t=1" | FileCheck %s --check-prefix=ONE

// Subscripts, other indices and other types stay. So does a scale by an index
// that stays, even if it is a power of one that changes.
// TWO: func.func private @layer(%{{.+}}: tensor<5x6x8xf32, #tpsp.idx<b, s@tp, e>>) -> tensor<5x6x8xf32, #tpsp.idx<b, s@tp, e>>
// TWO: func.func @f(%{{.+}}: tensor<5x6x8xf32, #tpsp.idx<b, s@tp, e>>, %{{.+}}: tensor<4xf64>) -> tensor<5x6x6xf32, #tpsp.idx<b, s, t, ?>>
// TWO: call @layer(%{{.+}}) : (tensor<5x6x8xf32, #tpsp.idx<b, s@tp, e>>) -> tensor<5x6x8xf32, #tpsp.idx<b, s@tp, e>>
// TWO: tpsp.rename %{{.+}} : tensor<5x6x4x2xf32, #tpsp.idx<b, s@tp, h, k>> -> tensor<5x6x4x2xf32, #tpsp.idx<b, t@tp, h, k>>
// TWO: scale = 5.000000e-01

// The queries' index goes with the keys'.
// FAMILY: func.func @f(%{{.+}}: tensor<3x6x8xf32, #tpsp.idx<b, s@tp, e>>
// FAMILY: tpsp.rename %{{.+}} -> tensor<3x6x4x2xf32, #tpsp.idx<b, t@tp, h, k>>
// ONE: func.func @f(%{{.+}}: tensor<3x1x8xf32, #tpsp.idx<b, s@tp, e>>

// SPLIT: tpsp.split %{{.+}} : tensor<3x4x12xf32, #tpsp.idx<b, s@tp, e>> -> tensor<3x4x6x2xf32, #tpsp.idx<b, s@tp, h, k>>

// SAME: func.func @f(%{{.+}}: tensor<3x4x8xf32, #tpsp.idx<b, s@tp, e>>
tpsp.mesh @mesh <tp = 1>
!x = tensor<3x4x8xf32, #tpsp.idx<b, s@tp, e>>
!q = tensor<3x4x4x2xf32, #tpsp.idx<b, s@tp, h, k>>
!k = tensor<3x4x4x2xf32, #tpsp.idx<b, t@tp, h, k>>
!p = tensor<3x4x4xf32, #tpsp.idx<b, s, t, ?>>
func.func private @layer(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}
func.func @f(%x: !x, %other: tensor<4xf64>) -> !p {
  %y = func.call @layer(%x) : (!x) -> !x
  %q = tpsp.split %y : !x -> !q
  %k = tpsp.rename %q : !q -> !k
  %p = tpsp.einsum %q, %k : (!q, !k) -> !p
  %w = tpsp.softmax %p {over = "t", scale = 5.000000e-01} : !p
  return %w : !p
}
