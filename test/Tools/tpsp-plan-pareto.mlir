// --pareto: a dot for each compiled plan, names that differ and do not collide,
// and how many evaluations there were.
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{plan} = tpsp-plan %examples/llama-tiny.mlir --forget-placements --hardware h100-sxm --optimizer adamw --json --pareto %t/p.svg

// RUN: %{plan} --devices 4 --overlap off --max-axes 2 > %t/p.json
// RUN: python3 %S/Inputs/check-pareto.py %t/p.svg %t/p.json
// RUN: %{plan} --devices 8 --overlap off --rows 3 --memory 200MiB --evaluations 50 > %t/p.json
// RUN: python3 %S/Inputs/check-pareto.py %t/p.svg %t/p.json
// RUN: %{plan} --devices 4 --evaluations 60 > %t/p.json
// RUN: python3 %S/Inputs/check-pareto.py %t/p.svg %t/p.json
// RUN: FileCheck %s --input-file %t/p.svg
// CHECK: {{[0-9]+}} plans, of {{[0-9]+}} evaluations
