// Attention in one call: outputs and gradients equal those of whole rows in
// f64, forward and backward, for any mesh, heads and mask. Other attention is
// computed in another form.
// REQUIRES: tpsp-run

// RUN: tpsp-run %examples/gpt-block-sp.mlir --grad --verify --quiet --attention fused
// RUN: tpsp-run %examples/gpt-block-sp.mlir --mesh tp=1 --grad --verify --quiet --attention fused --dtype bf16
// RUN: tpsp-run %examples/gpt-block-sp.mlir --verify --quiet --attention fused
// RUN: tpsp-run %examples/gqa.mlir --mesh tp=2 --grad --verify --quiet --attention fused
// RUN: tpsp-run %examples/gqa.mlir --mesh tp=2 --grad --verify --quiet --attention fused --dtype f16
// RUN: tpsp-run %examples/gqa-replicated.mlir --mesh kv=2,rep=2 --grad --verify --quiet --attention fused
// RUN: tpsp-run %examples/mqa.mlir --mesh rep=4 --dtype bf16 --grad --verify --quiet --attention fused

// Overlapped, in micro-batches, redone, with several threads a rank.
// RUN: tpsp-run %examples/gpt-block-sp.mlir --grad --verify --quiet --attention fused --overlap on --hardware h100-sxm
// RUN: tpsp-run %examples/gpt-block-sp.mlir --mesh tp=2 --grad --verify --quiet --attention fused --micro-batches 2 --threads 2
// RUN: tpsp-run %examples/gpt-block-sp.mlir --mesh tp=2 --grad --verify --quiet --attention fused --rematerialize full
// RUN: tpsp-run %examples/gpt-block-sp.mlir --mesh tp=2 --grad --verify --quiet --attention fused --rematerialize selective

// Dropout is drawn in rows.
// RUN: tpsp-run %examples/cp-attention.mlir --grad --verify --quiet --attention fused
// RUN: tpsp-run %examples/gpt-block-dropout.mlir --grad --verify --quiet --attention fused
// RUN: tpsp-run %s --grad --verify --quiet --attention fused

// The report says which it was.
// RUN: tpsp-run %examples/gqa.mlir --mesh tp=2 --grad --attention fused 2>&1 | FileCheck %s --check-prefix=FUSED
// FUSED: Attention in one call
// FUSED-NEXT: attention
// FUSED-NEXT: attention_gradient
// RUN: tpsp-run %examples/gpt-block-dropout.mlir --grad --attention fused 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS-NOT: in one call

// In f64, with a feature of values only, odd and prime extents, and no mask. So
// the sequence may be divided: the keys are gathered, the rows are not.
tpsp.mesh @mesh <cp = 3>
!q = tensor<2x21x3x5xf64, #tpsp.idx<b, s@cp, h, k>>
!k = tensor<2x21x5xf64, #tpsp.idx<b, t@cp, k>>
!v = tensor<2x21x7xf64, #tpsp.idx<b, t@cp, f>>
!y = tensor<2x21x3x7xf64, #tpsp.idx<b, s@cp, h, f>>
func.func @attention(%q: !q, %k: !k, %v: !v) -> !y {
  %y = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
         scale = 300.0} : (!q, !k, !v) -> !y
  return %y : !y
}
