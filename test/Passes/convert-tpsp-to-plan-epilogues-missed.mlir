// Operations that cannot be epilogues stay kernels, each for its reason.
// RUN: tpsp-opt %s --convert-tpsp-to-plan=epilogues --split-input-file | FileCheck %s
// RUN: tpsp-opt %s --convert-tpsp-to-plan=epilogues --remarks-filter=convert-tpsp-to-plan --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The exact form of GELU, which cuBLASLt lacks; other arithmetic; a kernel that
// also does something else. None is like an epilogue, so there is no remark.
// REMARK-NOT: gelu_erf
// CHECK-LABEL: plan.program @other_arithmetic
// CHECK-COUNT-4: plan.kernel
// CHECK-NOT: epilogue
!x = tensor<4x5xf32, #tpsp.idx<s, d, local>>
!w = tensor<8x5xf32, #tpsp.idx<e, d, local>>
!b = tensor<8xf32, #tpsp.idx<e, local>>
!h = tensor<4x8xf32, #tpsp.idx<s, e, local>>
func.func @other_arithmetic(%x: !x, %w: !w, %b: !b) -> (!x, !x, !x, !h) {
  %y0 = tpsp.einsum %w, %x : (!w, !x) -> !h
  %v0 = tpsp.gelu_erf %y0 : !h
  %x0 = tpsp.einsum %w, %v0 : (!w, !h) -> !x
  %y1 = tpsp.einsum %w, %x : (!w, !x) -> !h
  %v1 = tpsp.mul %y1, %b : (!h, !b) -> !h
  %x1 = tpsp.einsum %w, %v1 : (!w, !h) -> !x
  %y2 = tpsp.einsum %w, %x : (!w, !x) -> !h
  %h2 = tpsp.add %y2, %b : (!h, !b) -> !h
  %v2 = tpsp.silu %h2 : !h
  %x2 = tpsp.einsum %w, %v2 : (!w, !h) -> !x
  %y3 = tpsp.einsum %w, %x : (!w, !x) -> !h
  %h3 = tpsp.add %y3, %b : (!h, !b) -> !h
  %v3 = tpsp.gelu %h3 : !h
  %z3 = tpsp.add %v3, %v0 : (!h, !h) -> !h
  return %x0, %x1, %x2, %z3 : !x, !x, !x, !h
}

// -----

// A collective between the product and the vector.
// REMARK: {{[a-z_]+}} stays a kernel: it does not read a product
// CHECK-LABEL: plan.program @collective
// CHECK: plan.all_reduce
// CHECK-NEXT: plan.buffer
// CHECK-NEXT: plan.kernel
tpsp.mesh @mesh <tp = 2 : model>
!x = tensor<4x5xf32, #tpsp.idx<s, d@tp, local>>
!w = tensor<8x5xf32, #tpsp.idx<e, d@tp, local>>
!b = tensor<8xf32, #tpsp.idx<e, local>>
!p = tensor<4x8xf32, #tpsp.idx<s, e, local | sum@tp>>
!h = tensor<4x8xf32, #tpsp.idx<s, e, local>>
func.func @collective(%x: !x, %w: !w, %b: !b) -> !h {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !p
  %r = tpsp.all_reduce %y ["tp"] : (!p) -> !h
  %h = tpsp.add %r, %b : (!h, !b) -> !h
  return %h : !h
}

// -----

// Something else reads the product, and it is not GELU's argument.
// REMARK: {{[a-z_]+}} stays a kernel: something else reads the product
// CHECK-LABEL: plan.program @another_reader
// CHECK: plan.kernel
!x = tensor<4x5xf32, #tpsp.idx<s, d, local>>
!w = tensor<8x5xf32, #tpsp.idx<e, d, local>>
!b = tensor<8xf32, #tpsp.idx<e, local>>
!h = tensor<4x8xf32, #tpsp.idx<s, e, local>>
func.func @another_reader(%x: !x, %w: !w, %b: !b) -> (!h, !x) {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !h
  %h = tpsp.add %y, %b : (!h, !b) -> !h
  %z = tpsp.einsum %w, %y : (!w, !h) -> !x
  return %h, %z : !h, !x
}

// -----

// y gelu'(y) has the product on both sides.
// REMARK: {{[a-z_]+}} stays a kernel: something else reads the product
// CHECK-LABEL: plan.program @both_sides
// CHECK: plan.kernel
!x = tensor<4x5xf32, #tpsp.idx<s, d, local>>
!w = tensor<8x5xf32, #tpsp.idx<e, d, local>>
!h = tensor<4x8xf32, #tpsp.idx<s, e, local>>
func.func @both_sides(%x: !x, %w: !w) -> !h {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !h
  %slope = tpsp.slope %y {of = "gelu"} : !h
  %h = tpsp.mul %y, %slope : (!h, !h) -> !h
  return %h : !h
}

// -----

// The product is a result of the program, so its readers are unknown.
// REMARK: {{[a-z_]+}} stays a kernel: the product itself is a result
// CHECK-LABEL: plan.program @result
// CHECK: plan.kernel
!x = tensor<4x5xf32, #tpsp.idx<s, d, local>>
!w = tensor<8x5xf32, #tpsp.idx<e, d, local>>
!b = tensor<8xf32, #tpsp.idx<e, local>>
!h = tensor<4x8xf32, #tpsp.idx<s, e, local>>
func.func @result(%x: !x, %w: !w, %b: !b) -> (!h, !h) {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !h
  %h = tpsp.add %y, %b : (!h, !b) -> !h
  return %h, %y : !h, !h
}

// -----

// A product has one epilogue.
// REMARK: {{[a-z_]+}} became part of a matmul: bias
// REMARK: {{[a-z_]+}} stays a kernel: the product has an epilogue already
// CHECK-LABEL: plan.program @once
// CHECK: plan.matmul {{.*}}epilogue = ["bias"]
// CHECK: plan.kernel
!x = tensor<4x5xf32, #tpsp.idx<s, d, local>>
!w = tensor<8x5xf32, #tpsp.idx<e, d, local>>
!b = tensor<8xf32, #tpsp.idx<e, local>>
!h = tensor<4x8xf32, #tpsp.idx<s, e, local>>
!t = tensor<8x8xf32, #tpsp.idx<e, f, local>>
!f = tensor<4x8xf32, #tpsp.idx<s, f, local>>
func.func @once(%x: !x, %w: !w, %b: !b, %t: !t) -> (!f, !h) {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !h
  %h = tpsp.add %y, %b : (!h, !b) -> !h
  %u = tpsp.einsum %t, %h : (!t, !h) -> !f
  %v = tpsp.gelu %h : !h
  return %u, %v : !f, !h
}

// -----

// The vector lies along the product's rows: n is not its index.
// REMARK: {{[a-z_]+}} stays a kernel: the vector does not lie along the product's columns
// CHECK-LABEL: plan.program @rows
// CHECK: plan.kernel
!x = tensor<4x3x5xf32, #tpsp.idx<h, s, d, local>>
!w = tensor<4x2x5xf32, #tpsp.idx<h, k, d, local>>
!b = tensor<4x2xf32, #tpsp.idx<h, k, local>>
!q = tensor<3x4x2xf32, #tpsp.idx<s, h, k, local>>
func.func @rows(%x: !x, %w: !w, %b: !b) -> !q {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !q
  %q = tpsp.add %y, %b : (!q, !b) -> !q
  return %q : !q
}

// -----

// Rows of 7 elements: cuBLASLt keeps GELU's argument in rows of 8, 16, ...
// REMARK: {{[a-z_]+}} stays a kernel: cuBLASLt reads and writes GELU's argument in rows of multiples of 8 elements
// CHECK-LABEL: plan.program @alignment
// CHECK: plan.kernel
!x = tensor<4x5xf32, #tpsp.idx<s, d, local>>
!w = tensor<7x5xf32, #tpsp.idx<e, d, local>>
!b = tensor<7xf32, #tpsp.idx<e, local>>
!h = tensor<4x7xf32, #tpsp.idx<s, e, local>>
func.func @alignment(%x: !x, %w: !w, %b: !b) -> (!h, !h) {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !h
  %h = tpsp.add %y, %b : (!h, !b) -> !h
  %v = tpsp.gelu %h : !h
  return %h, %v : !h, !h
}

// -----

// REMARK: {{[a-z_]+}} stays a kernel: cuBLASLt has epilogues for f32, bf16 and f16 only
// CHECK-LABEL: plan.program @f64
// CHECK: plan.kernel
!x = tensor<4x5xf64, #tpsp.idx<s, d, local>>
!w = tensor<8x5xf64, #tpsp.idx<e, d, local>>
!b = tensor<8xf64, #tpsp.idx<e, local>>
!h = tensor<4x8xf64, #tpsp.idx<s, e, local>>
func.func @f64(%x: !x, %w: !w, %b: !b) -> !h {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !h
  %h = tpsp.add %y, %b : (!h, !b) -> !h
  return %h : !h
}

// -----

// A sum that no matmul makes: over the sequence alone; of a tensor that is only
// a left operand of what keeps its rows; in a batched product.
// REMARK-COUNT-3: {{[a-z_]+}} stays a kernel: no product sums this tensor over the same indices
// CHECK-LABEL: plan.program @sums
// CHECK-COUNT-3: plan.kernel
!x = tensor<4x3x5xf32, #tpsp.idx<b, s, d, local>>
!w = tensor<8x5xf32, #tpsp.idx<e, d, local>>
!h = tensor<4x3x8xf32, #tpsp.idx<b, s, e, local>>
!d = tensor<5xf32, #tpsp.idx<d, local>>
!e = tensor<8xf32, #tpsp.idx<e, local>>
!u = tensor<4x3x3xf32, #tpsp.idx<b, s, t, local>>
!t = tensor<4x3x8xf32, #tpsp.idx<b, t, e, local>>
!o = tensor<4x5x8xf32, #tpsp.idx<b, d, e, local>>
func.func @sums(%x: !x, %w: !w, %k: !t, %g: !h) -> (!h, !u, !d, !e, !o, !d) {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !h
  %a = tpsp.reduce %x : (!x) -> !d
  %p = tpsp.einsum %y, %k : (!h, !t) -> !u
  %c = tpsp.reduce %y : (!h) -> !e
  %o = tpsp.einsum %x, %g : (!x, !h) -> !o
  %f = tpsp.reduce %x : (!x) -> !d
  return %y, %p, %a, %c, %o, %f : !h, !u, !d, !e, !o, !d
}

// -----

// A sum that is read before the matmul runs comes too late with it.
// REMARK: {{[a-z_]+}} stays a kernel: no product sums this tensor over the same indices
// CHECK-LABEL: plan.program @too_late
// CHECK: plan.kernel
// CHECK: plan.all_reduce
// CHECK: plan.matmul
tpsp.mesh @mesh <dp = 2 : data>
!x = tensor<6x5xf32, #tpsp.idx<s@dp, d, local>>
!g = tensor<6x8xf32, #tpsp.idx<s@dp, e, local>>
!pw = tensor<8x5xf32, #tpsp.idx<e, d, local | sum@dp>>
!pb = tensor<8xf32, #tpsp.idx<e, local | sum@dp>>
!gb = tensor<8xf32, #tpsp.idx<e, local>>
func.func @too_late(%x: !x, %g: !g) -> (!pw, !gb) {
  %pb = tpsp.reduce %g : (!g) -> !pb
  %gb = tpsp.all_reduce %pb ["dp"] : (!pb) -> !gb
  %gw = tpsp.einsum %g, %x : (!g, !x) -> !pw
  return %gw, %gb : !pw, !gb
}
