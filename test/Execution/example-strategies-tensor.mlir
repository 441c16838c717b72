// Tensor parallelism alone and with data parallelism: outputs and gradients are those
// of the unsharded program, on the example's mesh, on another, and stored as bf16 or f16
// on a third.
// REQUIRES: tpsp-run

// RUN: export TPSP_CODE_EFFORT=full
// RUN: tpsp-run %examples/tp.mlir --mesh tp=4 --dtype f32 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/tp.mlir --mesh tp=2 --dtype f32 --grad --verify --quiet %}
// RUN: tpsp-run %examples/tp.mlir --mesh tp=8 --dtype bf16 --grad --verify --quiet

// RUN: tpsp-run %examples/tp-sp.mlir --mesh tp=4 --dtype f32 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/tp-sp.mlir --mesh tp=2 --dtype f32 --grad --verify --quiet %}
// RUN: tpsp-run %examples/tp-sp.mlir --mesh tp=8 --dtype f16 --grad --verify --quiet

// RUN: tpsp-run %examples/tp-dp.mlir --mesh dp=2,tp=2 --dtype f32 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/tp-dp.mlir --mesh dp=2,tp=4 --dtype f32 --grad --verify --quiet %}
// RUN: tpsp-run %examples/tp-dp.mlir --mesh dp=4,tp=2 --dtype bf16 --grad --verify --quiet

// RUN: tpsp-run %examples/tp-sp-fsdp.mlir --mesh fsdp=2,tp=2 --dtype f32 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/tp-sp-fsdp.mlir --mesh fsdp=4,tp=2 --dtype f32 --grad --verify --quiet %}
// RUN: %if nightly %{ tpsp-run %examples/tp-sp-fsdp.mlir --mesh fsdp=2,tp=4 --dtype f16 --grad --verify --quiet %}
