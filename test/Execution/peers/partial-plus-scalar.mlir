// pytorch/pytorch#163193: a scalar added to a Partial tensor was added once on
// every rank.
//
// Here adding a constant is not linear: a partial operand is refused with the
// bytes of completing it. Completed, it is added once.
// REQUIRES: tpsp-run
// RUN: sed 's/MARK/| sum@tp/' %s > %t.partial.mlir
// RUN: not tpsp-run %t.partial.mlir --function shifted 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: sed 's/MARK//' %s > %t.whole.mlir
// RUN: tpsp-run %t.whole.mlir --function shifted --grad --verify | FileCheck %s
// RUN: tpsp-run %t.whole.mlir --function shifted --mesh tp=8 --dtype bf16 --grad --verify --quiet

// REFUSED: error: 'tpsp.shift' op operand #0 is partial over @tp and 'tpsp.shift' is not linear in it, so the sum must come first; complete it with tpsp.reshard to [s, d] (1.1 KiB per rank)

// CHECK: phase kind axes
// CHECK-NEXT: forward all_reduce tp 1.1 KiB p
// CHECK-EMPTY:
// CHECK: all within tolerance

tpsp.mesh @mesh <tp = 4 : model>

!v = tensor<16x24xf32, #tpsp.idx<s, e@tp>>
!w = tensor<12x24xf32, #tpsp.idx<d, e@tp>>
!p = tensor<16x12xf32, #tpsp.idx<s, d MARK>>
!z = tensor<16x12xf32, #tpsp.idx<s, d>>
func.func @shifted(%v: !v, %w: !w {tpsp.param = "w"}) -> !z {
  %p = tpsp.einsum %w, %v : (!w, !v) -> !p
  %z = tpsp.shift %p {by = 3.0} : !p -> !z
  return %z : !z
}
