// Warnings name work that is repeated on an operand's axis, and orders
// of axes that send twice as much, with a better spelling. There is none
// if another operation needs a tensor whole anyway, or if no spelling
// helps.

// RUN: split-file %s %t
// RUN: tpsp-opt %t/parts.mlir --tpsp-explain=grad 2>&1 | FileCheck %t/parts.mlir
// RUN: tpsp-run %t/parts.mlir --grad 2>&1 | FileCheck %t/parts.mlir
// RUN: tpsp-opt %t/uneven.mlir --tpsp-explain 2>&1 | FileCheck %t/uneven.mlir
// RUN: tpsp-opt %t/order.mlir --tpsp-explain 2>&1 | FileCheck %t/order.mlir
// RUN: tpsp-opt %t/silent.mlir --tpsp-explain=grad 2>&1 | FileCheck %t/silent.mlir
// RUN: tpsp-opt %S/../../examples/tp-sp-fsdp.mlir --tpsp-explain=grad 2>&1 | FileCheck %t/silent.mlir

//--- parts.mlir
// CHECK: parts.mlir:[[@LINE+6]]:{{.*}}: warning: this split is done alike on all 4 ranks of @tp, for which an operand is gathered; @tp divides several parts of 'o' at once; write axes in its place that each divide one, tp0 = 2 and tp1 = 2, as o@tp0@tp1
// CHECK-NOT: warning:
tpsp.mesh @mesh <tp = 4 : model>
!o = tensor<6x48xf32, #tpsp.idx<s, o@tp>>
!q = tensor<6x2x4x6xf32, #tpsp.idx<s, g, r, k>>
func.func @f(%x: !o {tpsp.name = "x"}) -> !q {
  %q = tpsp.split %x : !o -> !q
  return %q : !q
}

//--- uneven.mlir
// CHECK: uneven.mlir:[[@LINE+6]]:{{.*}}: warning: this merge is done alike on all 4 ranks of @tp, for which an operand is gathered; write %x as [s@tp, g, r]
// CHECK-NOT: warning:
tpsp.mesh @mesh <tp = 4 : model>
!q = tensor<8x2x4xf32, #tpsp.idx<s, g, r@tp>>
!o = tensor<8x8xf32, #tpsp.idx<s, o>>
func.func @f(%x: !q {tpsp.name = "x"}) -> !o {
  %o = tpsp.merge %x : !q -> !o
  return %o : !o
}

//--- order.mlir
// CHECK: order.mlir:[[@LINE+5]]:{{.*}}: warning: what uses this argument sends 14.0 KiB per rank; as [s@cp@tp, h, k] it would send 6.0 KiB
// CHECK-NOT: warning:
tpsp.mesh @mesh <cp = 2, tp = 4>
!s = tensor<64x32x8xf32, #tpsp.idx<s@tp@cp, h, k>>
!h = tensor<64x32x8xf32, #tpsp.idx<s@cp, h@tp, k>>
func.func @f(%x: !s {tpsp.name = "x"}) -> !h {
  %y = tpsp.reshard %x : !s -> !h
  return %y : !h
}

//--- silent.mlir
// CHECK-NOT: warning:
tpsp.mesh @mesh <tp = 4 : model>
!x = tensor<8x12xf32, #tpsp.idx<s@tp, d>>
!y = tensor<8x8xf32, #tpsp.idx<s, e@tp>>
!w = tensor<8x12xf32, #tpsp.idx<e@tp, d>>
!v = tensor<12xf32, #tpsp.idx<d>>
func.func @f(%x: !x {tpsp.name = "x"}, %g: !v {tpsp.param = "g"}, %w: !w {tpsp.param = "w"}) -> !y {
  %n = tpsp.rms_norm %x, %g : (!x, !v) -> !x
  %y = tpsp.einsum %w, %n : (!w, !x) -> !y
  return %y : !y
}
