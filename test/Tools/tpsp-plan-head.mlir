// The command at the head of a program predicts the plan as it was judged: the
// same step, the same bytes. Nothing is added to it.
// REQUIRES: tpsp-run
// DEFINE: %{llama} = %examples/llama-tiny.mlir --forget-placements --devices 4
// DEFINE: %{plan} =
// DEFINE: %{predicted} = tpsp-plan %{plan} --json -o %t.mlir > %t.json && \
// DEFINE:   sed -n 's|^//.* THIS.mlir|tpsp-run %t.mlir --quiet --report %t.run.json|p' %t.mlir > %t.sh && \
// DEFINE:   sh %t.sh && python3 %S/Inputs/same-prediction.py %t.json %t.run.json

// Composed layers, with overlap and without. The best plan is compiled whole,
// even with few evaluations.
// REDEFINE: %{plan} = %{llama} --hardware h100-sxm --max-axes 1 --overlap off --optimizer adamw
// RUN: %{predicted}
// REDEFINE: %{plan} = %{llama} --hardware h100-sxm --max-axes 1 --seconds 0 --evaluations 4 --stages 1
// RUN: %{predicted}
// Threads of a rank count on a CPU, whose ranks share its memory.
// REDEFINE: %{plan} = %{llama} --hardware cpu --threads 1 --max-axes 1 --overlap off --micro-batches 2
// RUN: %{predicted}
// REDEFINE: %{plan} = %{llama} --hardware h100-sxm --overlap off --stages 2 --stage-chunks 2
// RUN: %{predicted}
// REDEFINE: %{plan} = %examples/mlp-sp.mlir --forget-placements --hardware h100-sxm --devices 4 --overlap on --overlap-memory 0.1
// RUN: %{predicted}
// REDEFINE: %{plan} = %examples/gqa.mlir --forget-placements --hardware h100-sxm --devices 2 --forward --overlap off
// RUN: %{predicted}
// REDEFINE: %{plan} = %examples/moe-ep.mlir --forget-placements --hardware h100-sxm --devices 16 --overlap off --max-axes 1
// RUN: %{predicted}

// A shell reads its words as they were given.
// RUN: mkdir -p "%t.it's here" && echo '{"base": "h100-sxm", "name": "mine"}' > "%t.it's here/a b.json"
// RUN: tpsp-plan %examples/mlp-sp.mlir --forget-placements --hardware "%t.it's here/a b.json" --devices 4 --overlap off --json -o %t.mlir > %t.json
// RUN: sed -n 's|^//.* THIS.mlir|tpsp-run %t.mlir --quiet --report %t.run.json|p' %t.mlir > %t.sh
// RUN: sh %t.sh && python3 %S/Inputs/same-prediction.py %t.json %t.run.json
