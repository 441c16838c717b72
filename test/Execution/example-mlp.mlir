// The MLP's outputs and gradients are those of the unsharded program, however
// it is sharded and stored.
// REQUIRES: tpsp-run

// RUN: export TPSP_CODE_EFFORT=full
// RUN: tpsp-run %examples/mlp-tp.mlir --mesh tp=1 --dtype f32 --grad --verify --quiet
// RUN: tpsp-run %examples/mlp-tp.mlir --mesh tp=2 --dtype f32 --grad --verify --quiet
// RUN: tpsp-run %examples/mlp-tp.mlir --mesh tp=2 --dtype f16 --grad --verify --quiet
// RUN: tpsp-run %examples/mlp-tp.mlir --mesh tp=4 --dtype f32 --grad --verify --quiet
// RUN: tpsp-run %examples/mlp-tp.mlir --mesh tp=8 --dtype f32 --grad --verify --quiet
// RUN: tpsp-run %examples/mlp-tp.mlir --mesh tp=8 --dtype bf16 --grad --verify --quiet
// RUN: tpsp-run %examples/mlp-sp.mlir --mesh tp=1 --dtype f32 --grad --verify --quiet
// RUN: tpsp-run %examples/mlp-sp.mlir --mesh tp=2 --dtype f32 --grad --verify --quiet
// RUN: tpsp-run %examples/mlp-sp.mlir --mesh tp=2 --dtype f16 --grad --verify --quiet
// RUN: tpsp-run %examples/mlp-sp.mlir --mesh tp=4 --dtype f32 --grad --verify --quiet
// RUN: tpsp-run %examples/mlp-sp.mlir --mesh tp=8 --dtype f32 --grad --verify --quiet
// RUN: tpsp-run %examples/mlp-sp.mlir --mesh tp=8 --dtype bf16 --grad --verify --quiet
