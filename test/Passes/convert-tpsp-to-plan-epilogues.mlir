// A kernel that reads a product element by element becomes its matmul's
// epilogue. So does an operand's sum over the indices that a matmul sums.
// RUN: tpsp-opt %s --convert-tpsp-to-plan=epilogues --verify-roundtrip --split-input-file | FileCheck %s

// Bias and GELU, the argument kept for the backward pass; no kernel is left.
// CHECK-NOT: func.func
// CHECK-LABEL: plan.program @kept
// CHECK: %[[X:.+]] = plan.buffer "input" "x"
// CHECK: %[[W:.+]] = plan.buffer "parameter" "w"
// CHECK: %[[B:.+]] = plan.buffer "parameter" "b"
// CHECK: %[[H:.+]] = plan.buffer "output" "h"
// CHECK: %[[V:.+]] = plan.buffer "output" "v"
// CHECK-NEXT: plan.matmul %[[X]], %[[W]], %[[V]] reads(%[[B]] : memref<16xf32>) writes(%[[H]] : memref<2x3x16xf32>)
// CHECK-SAME: epilogue = ["bias", "keep", "gelu"]
// CHECK-NOT: plan.kernel
!x = tensor<2x3x5xf32, #tpsp.idx<b, s, d, local>>
!w = tensor<16x5xf32, #tpsp.idx<e, d, local>>
!b = tensor<16xf32, #tpsp.idx<e, local>>
!h = tensor<2x3x16xf32, #tpsp.idx<b, s, e, local>>
func.func @kept(%x: !x {tpsp.name = "x"}, %w: !w {tpsp.param = "w"}, %b: !b {tpsp.param = "b"})
    -> (!h {tpsp.name = "h"}, !h {tpsp.name = "v"}) {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !h
  %h = tpsp.add %b, %y : (!b, !h) -> !h
  %v = tpsp.gelu %h : !h
  return %h, %v : !h, !h
}

// -----

// The shorter forms, in bf16, with rows of odd lengths. Two products whose
// vectors one kernel adds: an epilogue each.
// CHECK-NOT: func.func
// CHECK-LABEL: plan.program @forms
// CHECK: plan.matmul {{.*}}epilogue = ["bias"]
// CHECK: plan.matmul {{.*}}epilogue = ["bias"]
// CHECK: plan.matmul {{.*}}epilogue = ["bias", "gelu"]
// CHECK: plan.matmul {{.*}}epilogue = ["gelu"]
// CHECK-NOT: plan.kernel
!x = tensor<2x3x5xbf16, #tpsp.idx<b, s, d, local>>
!w = tensor<7x5xbf16, #tpsp.idx<e, d, local>>
!b = tensor<7xbf16, #tpsp.idx<e, local>>
!h = tensor<2x3x7xbf16, #tpsp.idx<b, s, e, local>>
!a = tensor<2x3x3xbf16, #tpsp.idx<b, s, t, local>>
!k = tensor<2x3x7xbf16, #tpsp.idx<b, t, e, local>>
func.func @forms(%x: !x, %w: !w, %b: !b, %c: !b) -> (!a, !h, !x) {
  %y0 = tpsp.einsum %w, %x : (!w, !x) -> !h
  %y1 = tpsp.einsum %w, %x : (!w, !x) -> !h
  %h0 = tpsp.add %y0, %b : (!h, !b) -> !h
  %h1 = tpsp.add %y1, %c : (!h, !b) -> !h
  %k = tpsp.rename %h1 : !h -> !k
  %a = tpsp.einsum %h0, %k : (!h, !k) -> !a
  %y2 = tpsp.einsum %w, %x : (!w, !x) -> !h
  %h2 = tpsp.add %y2, %b : (!h, !b) -> !h
  %v2 = tpsp.gelu %h2 : !h
  %x1 = tpsp.einsum %w, %v2 : (!w, !h) -> !x
  %v1 = tpsp.gelu %x1 : !x
  return %a, %v2, %v1 : !a, !h, !x
}

// -----

// A vector over the product's last two indices; n is both.
// CHECK-LABEL: plan.program @heads
// CHECK: plan.matmul {{.*}} reads(%{{.+}} : memref<2x3xf32>) {{.*}}epilogue = ["bias"]{{.*}}sizes = array<i64: 4, 6, 5>
// CHECK-NOT: plan.kernel
!x = tensor<4x5xf32, #tpsp.idx<s, d, local>>
!w = tensor<2x3x5xf32, #tpsp.idx<h, k, d, local>>
!b = tensor<2x3xf32, #tpsp.idx<h, k, local>>
!q = tensor<4x2x3xf32, #tpsp.idx<s, h, k, local>>
func.func @heads(%x: !x, %w: !w, %b: !b) -> !q {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !q
  %q = tpsp.add %y, %b : (!q, !b) -> !q
  return %q : !q
}

// -----

// The backward pass of an MLP without biases: the product itself is kept, and
// the slope is taken of it. First as two kernels, then as one, which reads the
// product twice and makes the slope's result first.
// CHECK-LABEL: plan.program @backward
// CHECK: plan.matmul %{{.+}}, %{{.+}}, %[[V:.+]] writes(%[[Y:.+]] : memref<6x8xf32>) {{.*}}epilogue = ["keep", "gelu"]
// CHECK: plan.matmul %[[V]],
// CHECK: plan.matmul %{{.+}}, %{{.+}}, %[[G:.+]] reads(%[[Y]] : memref<6x8xf32>) {{.*}}epilogue = ["slope"]
// CHECK: plan.matmul %[[G]],
// CHECK-NOT: plan.kernel
!x = tensor<6x5xf32, #tpsp.idx<s, d, local>>
!w = tensor<8x5xf32, #tpsp.idx<e, d, local>>
!h = tensor<6x8xf32, #tpsp.idx<s, e, local>>
func.func @backward(%x: !x, %w: !w, %g: !x) -> (!x, !w) {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !h
  %v = tpsp.gelu %y : !h
  %z = tpsp.einsum %w, %v : (!w, !h) -> !x
  %gv = tpsp.einsum %w, %g : (!w, !x) -> !h
  %slope = tpsp.slope %y {of = "gelu"} : !h
  %gy = tpsp.mul %gv, %slope : (!h, !h) -> !h
  %gw = tpsp.einsum %gy, %x : (!h, !x) -> !w
  return %z, %gw : !x, !w
}

// CHECK-LABEL: plan.program @one_kernel
// CHECK: plan.matmul %{{.+}}, %{{.+}}, %{{.+}} writes(%[[Y:.+]] : memref<6x8xf32>) {{.*}}epilogue = ["keep", "gelu"]
// CHECK-NEXT: plan.buffer
// CHECK-NEXT: plan.matmul %{{.+}}, %{{.+}}, %[[G:.+]] reads(%[[Y]] : memref<6x8xf32>) {{.*}}epilogue = ["slope"]
// CHECK: plan.matmul %[[G]],
// CHECK-NOT: plan.kernel
func.func @one_kernel(%x: !x, %w: !w, %g: !x) -> (!w, !h) {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !h
  %gv = tpsp.einsum %w, %g : (!w, !x) -> !h
  %slope = tpsp.slope %y {of = "gelu"} : !h
  %gy = tpsp.mul %gv, %slope : (!h, !h) -> !h
  %v = tpsp.gelu %y : !h
  %gw = tpsp.einsum %gy, %x : (!h, !x) -> !w
  return %gw, %v : !w, !h
}

// -----

// Bias gradients come with weight gradients: of the operand that has the bias's
// index, which may be either, and in bf16, where a kernel keeps wider sums.
// CHECK-NOT: func.func
// CHECK-LABEL: plan.program @gradients
// CHECK: %[[GB:.+]] = plan.buffer "output" "gb"
// CHECK: plan.matmul {{.*}} writes(%[[GB]] : memref<2x4xbf16>) {{.*}}epilogue = ["sum_a"]
// CHECK: plan.matmul {{.*}} writes(%{{.+}} : memref<5xbf16>) {{.*}}epilogue = ["sum_b"]
// CHECK-NOT: plan.kernel
!x = tensor<3x6x5xbf16, #tpsp.idx<b, s, d, local>>
!g = tensor<3x6x2x4xbf16, #tpsp.idx<b, s, h, k, local>>
!gw = tensor<2x4x5xbf16, #tpsp.idx<h, k, d, local>>
!gb = tensor<2x4xbf16, #tpsp.idx<h, k, local>>
!gd = tensor<5xbf16, #tpsp.idx<d, local>>
func.func @gradients(%x: !x, %g: !g) -> (!gw, !gb {tpsp.name = "gb"}, !gw, !gd) {
  %gw = tpsp.einsum %g, %x : (!g, !x) -> !gw
  %gb = tpsp.reduce %g : (!g) -> !gb
  %gd = tpsp.reduce %x : (!x) -> !gd
  %gw1 = tpsp.einsum %g, %x : (!g, !x) -> !gw
  return %gw, %gb, %gw1, %gd : !gw, !gb, !gw, !gd
}

// -----

// Other spellings of the same: a vector that is broadcast first, a product with
// the slope as an einsum, sums as einsums.
// CHECK-LABEL: plan.program @spelled_otherwise
// CHECK: plan.matmul {{.*}}epilogue = ["bias"]
// CHECK: plan.matmul {{.*}}epilogue = ["slope"]
// CHECK: plan.matmul {{.*}}epilogue = ["sum_a"]
// CHECK-NOT: plan.kernel
!x = tensor<6x5xf32, #tpsp.idx<s, d, local>>
!w = tensor<8x5xf32, #tpsp.idx<e, d, local>>
!b = tensor<8xf32, #tpsp.idx<e, local>>
!h = tensor<6x8xf32, #tpsp.idx<s, e, local>>
func.func @spelled_otherwise(%x: !x, %w: !w, %b: !b, %kept: !h) -> (!x, !w, !b) {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !h
  %wide = tpsp.broadcast %b : (!b) -> !h
  %h = tpsp.add %wide, %y : !h
  %z = tpsp.einsum %w, %h : (!w, !h) -> !x
  %gv = tpsp.einsum %w, %z : (!w, !x) -> !h
  %slope = tpsp.slope %kept {of = "gelu"} : !h
  %gy = tpsp.einsum %slope, %gv : (!h, !h) -> !h
  %gw = tpsp.einsum %gy, %x : (!h, !x) -> !w
  %gb = tpsp.einsum %gy : (!h) -> !b
  return %z, %gw, %gb : !x, !w, !b
}

// -----

// The product is read under other names; a view is no reader.
// CHECK-LABEL: plan.program @renamed
// CHECK: plan.matmul {{.*}} writes({{.*}}) {{.*}}epilogue = ["keep", "gelu"]
// CHECK-NOT: plan.kernel
!x = tensor<6x5xf32, #tpsp.idx<s, d, local>>
!w = tensor<8x5xf32, #tpsp.idx<e, d, local>>
!h = tensor<6x8xf32, #tpsp.idx<s, e, local>>
!t = tensor<6x8xf32, #tpsp.idx<t, e, local>>
!u = tensor<6x6xf32, #tpsp.idx<s, t, local>>
func.func @renamed(%x: !x, %w: !w) -> (!t, !u) {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !h
  %t = tpsp.rename %y : !h -> !t
  %v = tpsp.gelu %t : !t
  %u = tpsp.einsum %y, %v : (!h, !t) -> !u
  return %v, %u : !t, !u
}
