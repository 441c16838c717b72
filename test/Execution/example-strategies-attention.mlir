// Shared key/value heads and sharded sequences: outputs and gradients are those
// of the unsharded program, on the example's mesh, on another, and stored as bf16 or f16
// on a third.
// REQUIRES: tpsp-run

// RUN: export TPSP_CODE_EFFORT=full
// RUN: tpsp-run %examples/gqa.mlir --mesh tp=4 --dtype f32 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/gqa.mlir --mesh tp=2 --dtype f32 --grad --verify --quiet %}
// RUN: tpsp-run %examples/gqa.mlir --mesh tp=8 --dtype bf16 --grad --verify --quiet

// RUN: tpsp-run %examples/gqa-replicated.mlir --mesh kv=2,rep=2 --dtype f32 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/gqa-replicated.mlir --mesh kv=1,rep=4 --dtype f32 --grad --verify --quiet %}
// RUN: tpsp-run %examples/gqa-replicated.mlir --mesh kv=2,rep=4 --dtype f16 --grad --verify --quiet

// RUN: tpsp-run %examples/mqa.mlir --mesh rep=4 --dtype f32 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/mqa.mlir --mesh rep=2 --dtype f32 --grad --verify --quiet %}
// RUN: tpsp-run %examples/mqa.mlir --mesh rep=8 --dtype bf16 --grad --verify --quiet

// RUN: tpsp-run %examples/cp-attention.mlir --mesh cp=4 --dtype f32 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/cp-attention.mlir --mesh cp=2 --dtype f32 --grad --verify --quiet %}
// RUN: tpsp-run %examples/cp-attention.mlir --mesh cp=8 --dtype f16 --grad --verify --quiet

// RUN: tpsp-run %examples/ulysses.mlir --mesh cp=4 --dtype f32 --grad --verify --quiet
// RUN: tpsp-run %examples/ulysses.mlir --mesh cp=2 --dtype f32 --grad --verify --quiet --attention fused --optimizer adamw
// RUN: tpsp-run %examples/ulysses.mlir --mesh cp=8 --dtype bf16 --grad --verify --quiet

// RUN: tpsp-run %examples/ddp-cp.mlir --mesh dp=2,cp=2 --dtype f32 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/ddp-cp.mlir --mesh dp=4,cp=2 --dtype f32 --grad --verify --quiet %}
// RUN: tpsp-run %examples/ddp-cp.mlir --mesh dp=2,cp=4 --dtype bf16 --grad --verify --quiet
