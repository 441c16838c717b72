// Data parallelism in its forms: outputs and gradients are those
// of the unsharded program, on the example's mesh, on another, and stored as bf16 or f16
// on a third.
// REQUIRES: tpsp-run

// RUN: export TPSP_CODE_EFFORT=full
// RUN: tpsp-run %examples/ddp.mlir --mesh dp=4 --dtype f32 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/ddp.mlir --mesh dp=2 --dtype f32 --grad --verify --quiet %}
// RUN: tpsp-run %examples/ddp.mlir --mesh dp=8 --dtype bf16 --grad --verify --quiet

// RUN: tpsp-run %examples/fsdp.mlir --mesh fsdp=4 --dtype f32 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/fsdp.mlir --mesh fsdp=2 --dtype f32 --grad --verify --quiet %}
// RUN: tpsp-run %examples/fsdp.mlir --mesh fsdp=8 --dtype f16 --grad --verify --quiet

// RUN: tpsp-run %examples/hsdp.mlir --mesh dp=2,fsdp=2 --dtype f32 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/hsdp.mlir --mesh dp=4,fsdp=2 --dtype f32 --grad --verify --quiet %}
// RUN: tpsp-run %examples/hsdp.mlir --mesh dp=2,fsdp=4 --dtype bf16 --grad --verify --quiet

// RUN: tpsp-run %examples/zero2.mlir --mesh dp=4 --dtype f32 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/zero2.mlir --mesh dp=2 --dtype f32 --grad --verify --quiet %}
// RUN: tpsp-run %examples/zero2.mlir --mesh dp=8 --dtype f16 --grad --verify --quiet
