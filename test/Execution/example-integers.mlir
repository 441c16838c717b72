// Models with token ids, dropout and routing: outputs and gradients are those of
// the unsharded program on every mesh.
// REQUIRES: tpsp-run

// RUN: export TPSP_CODE_EFFORT=full
// RUN: %if nightly %{ tpsp-run %examples/vocab-parallel.mlir --mesh tp=1 --grad --verify --quiet %}
// RUN: tpsp-run %examples/vocab-parallel.mlir --mesh tp=4 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/vocab-parallel.mlir --mesh tp=8 --grad --verify --quiet %}
// RUN: sed 's/s@tp/s/g' %examples/vocab-parallel.mlir > %t.tp.mlir
// RUN: tpsp-run %t.tp.mlir --grad --verify --quiet
// RUN: tpsp-run %examples/vocab-parallel.mlir --dtype bf16 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/vocab-parallel.mlir --dtype f16 --grad --verify --quiet %}

// RUN: %if nightly %{ tpsp-run %examples/moe-ep.mlir --mesh ep=1,tp=1 --grad --verify --quiet %}
// RUN: tpsp-run %examples/moe-ep.mlir --mesh ep=4,tp=1 --grad --verify --quiet
// RUN: tpsp-run %examples/moe-ep.mlir --mesh ep=2,tp=2 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/moe-ep.mlir --mesh ep=8,tp=1 --grad --verify --quiet --seed 5 %}

// Rounding may change a router's choice. The reference uses the run's choice
// and reports how much worse than the best it is.
// RUN: tpsp-run %examples/moe-ep.mlir --dtype bf16 --grad --verify | FileCheck %s
// RUN: %if nightly %{ tpsp-run %examples/moe-ep.mlir --dtype f16 --mesh ep=8,tp=1 --grad --verify --quiet %}
// After an update its scores differ by the rounding of parameters, too.
// RUN: %if nightly %{ tpsp-run %examples/moe-ep.mlir --dtype bf16 --grad --optimizer adamw --steps 2 --verify --quiet %}
// RUN: tpsp-run %examples/moe-ep.mlir --dtype bf16 --grad --verify --quiet --rematerialize full --micro-batches 2 --micro-batch-index g
// RUN: tpsp-run %examples/moe-ep.mlir --dtype bf16 --grad --emit %t.so --quiet
// RUN: tpsp-run %t.so --verify --quiet --save-all %t.all.safetensors
// CHECK: Verified against the unsharded program
// CHECK:   layer0.choice {{.*}}e-
// CHECK:   layer1.choice {{.*}}e-
// CHECK:   all within tolerance
// Without --verify only requested values are returned.
// RUN: tpsp-run %examples/moe-ep.mlir --quiet --report %t.json
// RUN: FileCheck %s --check-prefix=ALONE --input-file=%t.json
// ALONE: "program"
// ALONE-NOT: "choice"

// RUN: %if nightly %{ tpsp-run %examples/sp-dropout.mlir --mesh tp=1 --grad --verify --quiet %}
// RUN: tpsp-run %examples/sp-dropout.mlir --mesh tp=4 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/sp-dropout.mlir --mesh tp=8 --grad --verify --quiet %}
// RUN: tpsp-run %examples/sp-dropout.mlir --mesh tp=4 --grad --verify --quiet --keep-masks
// RUN: tpsp-run %examples/sp-dropout.mlir --mesh tp=4 --dtype bf16 --grad --verify --quiet
// RUN: %if nightly %{ tpsp-run %examples/sp-dropout.mlir --mesh tp=4 --dtype f16 --grad --verify --quiet %}
