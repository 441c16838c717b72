// Attention by blocks of keys: outputs and gradients equal those of whole rows
// in f64, forward and backward, for any block, mesh and mask.
// REQUIRES: tpsp-run

// Around a ring: own tile first.
// DEFINE: %{cp} = tpsp-run %examples/cp-attention.mlir --grad --verify --quiet --attention blocks
// RUN: %{cp}
// RUN: %{cp} --mesh cp=2
// RUN: %{cp} --mesh cp=8 --dtype bf16
// RUN: %if nightly %{ tpsp-run %examples/cp-attention.mlir --verify --quiet --attention blocks %}

// Tiles of 16 keys in parts: 8 of 2 where 3 do not divide, 16 of 1.
// RUN: %{cp} --attention-block 3
// RUN: %if nightly %{ %{cp} --attention-block 1 %}

// Overlapped: the same numbers for any schedule.
// RUN: %{cp} --overlap on --hardware h100-sxm --attention-block 8
// RUN: %if nightly %{ %{cp} --mesh cp=2 --overlap on --overlap-chunks 2 %}

// With options that change the backward pass.
// RUN: %if nightly %{ %{cp} --keep-gathered %}
// RUN: %{cp} --rematerialize full --attention-block 8
// RUN: %{cp} --micro-batches 2

// Without a ring: keys are there, or gathered for more than attention. Grouped
// and single key heads; dropout of weights drops the same as in rows.
// RUN: %if nightly %{ tpsp-run %examples/ddp-cp.mlir --mesh dp=2,cp=2 --grad --verify --quiet --attention blocks %}
// RUN: tpsp-run %examples/gpt-block-dropout.mlir --grad --verify --quiet --attention blocks --attention-block 32
// RUN: tpsp-run %examples/gqa-replicated.mlir --mesh kv=2,rep=2 --grad --verify --quiet --attention blocks --attention-block 8
// RUN: %if nightly %{ tpsp-run %examples/mqa.mlir --mesh rep=4 --dtype bf16 --grad --verify --quiet --attention blocks --attention-block 16 %}
// RUN: tpsp-run %s --grad --verify --quiet --attention blocks
// RUN: %if nightly %{ tpsp-run %s --grad --verify --quiet --attention blocks --attention-block 3 %}

// Dropout and masks belong to the whole batch, which cannot be cut.
// RUN: not tpsp-run %examples/gpt-block-dropout.mlir --grad --attention blocks --micro-batches 2 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: error: 'tpsp.attention' op drops weights by positions along 'b', which a part of it cannot know

// RUN: not tpsp-run %examples/cp-attention.mlir --attention-block 8 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: --attention-block goes with --attention blocks
// RUN: not tpsp-run %examples/cp-attention.mlir --attention blocks --attention-block 0 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: --attention-block

// In f64: a value of its own feature, odd and prime extents, a ring over two
// axes, no causal mask, scores large enough to overflow without the maximum,
// dropout.
tpsp.mesh @mesh <cp = 3, ep = 2>
!q = tensor<1x42x3x5xf64, #tpsp.idx<b, s@cp@ep, h, k>>
!k = tensor<1x42x5xf64, #tpsp.idx<b, t@cp@ep, k>>
!v = tensor<1x42x7xf64, #tpsp.idx<b, t@cp@ep, f>>
!y = tensor<1x42x3x7xf64, #tpsp.idx<b, s@cp@ep, h, f>>
func.func @attention(%q: !q, %k: !k, %v: !v) -> !y {
  %y = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
         scale = 900.0, dropout = 0.2, seed = 3} : (!q, !k, !v) -> !y
  return %y : !y
}
