// Models with token ids, dropout and routing: outputs and gradients are those of
// the unsharded program on every mesh.
// REQUIRES: tpsp-run

// RUN: tpsp-run %examples/vocab-parallel.mlir --mesh tp=1 --grad --verify --quiet
// RUN: tpsp-run %examples/vocab-parallel.mlir --mesh tp=4 --grad --verify --quiet
// RUN: tpsp-run %examples/vocab-parallel.mlir --mesh tp=8 --grad --verify --quiet
// RUN: sed 's/s@tp/s/' %examples/vocab-parallel.mlir > %t.tp.mlir
// RUN: tpsp-run %t.tp.mlir --grad --verify --quiet
// RUN: tpsp-run %examples/vocab-parallel.mlir --dtype bf16 --grad --verify --quiet
// RUN: tpsp-run %examples/vocab-parallel.mlir --dtype f16 --grad --verify --quiet

// RUN: tpsp-run %examples/moe-ep.mlir --mesh ep=1,tp=1 --grad --verify --quiet
// RUN: tpsp-run %examples/moe-ep.mlir --mesh ep=4,tp=1 --grad --verify --quiet
// RUN: tpsp-run %examples/moe-ep.mlir --mesh ep=2,tp=2 --grad --verify --quiet
// RUN: tpsp-run %examples/moe-ep.mlir --mesh ep=8,tp=1 --grad --verify --quiet --seed 5

// RUN: tpsp-run %examples/sp-dropout.mlir --mesh tp=1 --grad --verify --quiet
// RUN: tpsp-run %examples/sp-dropout.mlir --mesh tp=4 --grad --verify --quiet
// RUN: tpsp-run %examples/sp-dropout.mlir --mesh tp=8 --grad --verify --quiet
// RUN: tpsp-run %examples/sp-dropout.mlir --mesh tp=4 --grad --verify --quiet --keep-masks
// RUN: tpsp-run %examples/sp-dropout.mlir --mesh tp=4 --dtype bf16 --grad --verify --quiet
// RUN: tpsp-run %examples/sp-dropout.mlir --mesh tp=4 --dtype f16 --grad --verify --quiet
