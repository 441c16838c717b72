// The planner's choices run, compute the same as the unsharded program, and
// need the planned bytes, for five programs.
// REQUIRES: tpsp-run
// DEFINE: %{program} =
// DEFINE: %{chosen} = tpsp-plan %examples/%{program}.mlir --forget-placements --hardware cpu --devices 2 --max-axes 1 --overlap off --json -o %t.%{program}.mlir > %t.plan.json && \
// DEFINE:   tpsp-run %t.%{program}.mlir --grad --verify --quiet --report %t.run.json && \
// DEFINE:   python3 %S/Inputs/same-memory.py %t.plan.json %t.run.json
// REDEFINE: %{program} = mlp-sp
// RUN: %{chosen}
// REDEFINE: %{program} = moe-ep
// RUN: %{chosen}
// REDEFINE: %{program} = gqa
// RUN: %{chosen}
// REDEFINE: %{program} = vocab-parallel
// RUN: %{chosen}
// REDEFINE: %{program} = tp-sp
// RUN: %{chosen}
