// A step in parts computes the same as the whole step, in less memory. The
// reference evaluates the program before it is cut.
// REQUIRES: tpsp-run
// DEFINE: %{run} = tpsp-run %s --grad --verify --quiet

// RUN: %{run} --micro-batches 2
// RUN: %{run} --micro-batches 4 --mesh dp=2,tp=2
// RUN: %{run} --micro-batches 2 --mesh dp=4,tp=2 --dtype bf16
// RUN: %if nightly %{ %{run} --micro-batches 8 --mesh dp=2,tp=1 %}
// RUN: %if nightly %{ %{run} --micro-batches 16 --mesh dp=1,tp=1 %}
// With overlap a few are written out. Of more, the last one is a segment with
// the update.
// RUN: %{run} --micro-batches 4 --mesh dp=2,tp=2 --overlap on
// RUN: %{run} --micro-batches 8 --mesh dp=2,tp=2 --overlap on --overlap-chunks 2
// RUN: %{run} --micro-batches 8 --mesh dp=2,tp=1 --overlap on --optimizer adamw --optimizer-axes dp --clip 1
// RUN: %if nightly %{ %{run} --micro-batches 16 --mesh dp=1,tp=2 --overlap on --dtype bf16 --optimizer adamw %}
// RUN: %{run} --micro-batches 3 --micro-batch-index s --mesh dp=2,tp=2
// RUN: %if nightly %{ tpsp-run %examples/mlp-sp.mlir --grad --verify --quiet --micro-batches 2 %}
// RUN: %if nightly %{ tpsp-run %examples/gpt-block-tp.mlir --grad --verify --quiet --micro-batches 2 %}
// RUN: tpsp-run %examples/gpt-block-sp.mlir --grad --verify --quiet --micro-batches 2 --mesh tp=2

// Parts use the whole's masks and their own positions. Experts' groups are cut.
// Redone and saved values are those of one part.
// RUN: tpsp-run %examples/sp-dropout.mlir --grad --verify --quiet --micro-batches 2
// RUN: %if nightly %{ tpsp-run %examples/sp-dropout.mlir --grad --verify --quiet --micro-batches 2 --keep-masks %}
// RUN: tpsp-run %examples/vocab-parallel.mlir --grad --verify --quiet --micro-batches 2
// RUN: tpsp-run %examples/moe-ep.mlir --grad --verify --quiet --micro-batches 2 --micro-batch-index g
// RUN: tpsp-run %examples/gpt-block-dropout.mlir --grad --verify --quiet --micro-batches 2 --rematerialize full
// RUN: tpsp-run %examples/fsdp.mlir --grad --verify --quiet --micro-batches 2 --keep-gathered

// Activations of one part live at a time.
// RUN: %{run} --report %t.1.json
// RUN: %{run} --micro-batches 4 --report %t.4.json
// RUN: python3 %S/Inputs/less-memory.py %t.4.json %t.1.json 0.5

// RUN: not tpsp-run %s --grad --micro-batches 5 2>&1 | FileCheck %s --check-prefix=UNEVEN
// UNEVEN: has index 'b' of extent 16, which 2 shards of 5 micro-batches do not divide; 4 or 8 micro-batches would
// A causal softmax has positions along s.
// RUN: not tpsp-run %examples/gpt-block-tp.mlir --micro-batches 2 --micro-batch-index t 2>&1 | FileCheck %s --check-prefix=INDEX
// INDEX: no argument has an index 't' to cut into micro-batches

tpsp.mesh @mesh <dp = 2 : data, tp = 1 : model>

!x = tensor<16x24x16xf32, #tpsp.idx<b@dp, s, d>>
!y = tensor<16x24x64xf32, #tpsp.idx<b, s, e, ?>>
!x_ = tensor<16x24x16xf32, #tpsp.idx<b, s, d, ?>>
!w = tensor<64x16xf32, #tpsp.idx<e@tp, d>>
!v = tensor<16x64xf32, #tpsp.idx<d, e@tp>>
!g = tensor<16xf32, #tpsp.idx<d>>
!l = tensor<f32, #tpsp.idx<>>

// A residual network, its mean square and a penalty on a weight, which is no
// part of the batch.
func.func @net(%x: !x {tpsp.name = "x"},
               %g0: !g {tpsp.param}, %w0: !w {tpsp.param}, %v0: !v {tpsp.param},
               %g1: !g {tpsp.param}, %w1: !w {tpsp.param}, %v1: !v {tpsp.param},
               %g2: !g {tpsp.param}, %w2: !w {tpsp.param}, %v2: !v {tpsp.param})
    -> (!x, !l) {
  %n0 = tpsp.rms_norm %x, %g0 : (!x, !g) -> !x_
  %y0 = tpsp.einsum %w0, %n0 : (!w, !x_) -> !y
  %a0 = tpsp.gelu %y0 : !y
  %z0 = tpsp.einsum %v0, %a0 : (!v, !y) -> !x_
  %r0 = tpsp.add %x, %z0 : (!x, !x_) -> !x_
  %n1 = tpsp.rms_norm %r0, %g1 : (!x_, !g) -> !x_
  %y1 = tpsp.einsum %w1, %n1 : (!w, !x_) -> !y
  %a1 = tpsp.gelu %y1 : !y
  %z1 = tpsp.einsum %v1, %a1 : (!v, !y) -> !x_
  %r1 = tpsp.add %r0, %z1 : !x_
  %n2 = tpsp.rms_norm %r1, %g2 : (!x_, !g) -> !x_
  %y2 = tpsp.einsum %w2, %n2 : (!w, !x_) -> !y
  %a2 = tpsp.gelu %y2 : !y
  %z2 = tpsp.einsum %v2, %a2 : (!v, !y) -> !x_
  %r2 = tpsp.add %r1, %z2 : (!x_, !x_) -> !x
  %q = tpsp.square %r2 : !x
  %t = tpsp.reduce %q : !x -> !l
  %m = tpsp.scale %t {factor = 0.000163 : f64} : !l
  %p = tpsp.square %w0 : !w
  %u = tpsp.reduce %p : !w -> !l
  %l = tpsp.add %m, %u : !l
  return %r2, %l : !x, !l
}
