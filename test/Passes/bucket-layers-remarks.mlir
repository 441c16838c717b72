// Layers are calls. For weights of a layer that is written out, a remark says
// that their transfers stay apart.
// RUN: tpsp-opt %s --tpsp-collective-pipeline="grad=true bucket-layers=on" --remarks-filter=tpsp-bucket-layers -o %t.mlir 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s --input-file %t.mlir
// REMARK: remark: [Missed] layer | Category:tpsp-bucket-layers | Reason="2 transfers of weights are of no layer and stay apart: a layer is a call of a function"
// REMARK: remark: [Missed] layer | Category:tpsp-bucket-layers | Reason="6 transfers of weights are of no layer and stay apart: a layer is a call of a function"

// CHECK-LABEL: func.func @model_grad(
// CHECK-COUNT-4: all_gather %{{[^ ,]+}} ["fsdp"]

tpsp.mesh @mesh <fsdp = 4 : data>
!x = tensor<8x6x64xf32, #tpsp.idx<b@fsdp, s, d>>
!h = tensor<8x6x48xf32, #tpsp.idx<b@fsdp, s, e>>
!w1 = tensor<48x64xf32, #tpsp.idx<e@fsdp, d>>
!w2 = tensor<64x48xf32, #tpsp.idx<d@fsdp, e>>
func.func @model(%x: !x, %w1: !w1 {tpsp.param}, %w2: !w2 {tpsp.param}) -> !x {
  %h = tpsp.einsum %x, %w1 : (!x, !w1) -> !h
  %g = tpsp.gelu %h : !h
  %y = tpsp.einsum %g, %w2 : (!h, !w2) -> !x
  return %y : !x
}
