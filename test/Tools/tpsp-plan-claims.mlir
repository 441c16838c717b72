// No answer of the planner contradicts another. Layers are composed here, and
// evaluations end most of the searches. For all pairs, the best of one, less
// its gap, takes no longer than the best of the other.
// REQUIRES: tpsp-run
// DEFINE: %{claims} = python3 %S/../../benchmarks/claims --bin %tools_dir --devices 4 --evaluations 4,8,16,0 %examples/llama-tiny.mlir -- --forget-placements --stages 1
// RUN: %{claims} --optimizer adamw --overlap off --max-axes 2 | FileCheck %s
// RUN: %{claims} --max-axes 1 | FileCheck %s
// CHECK: | llama-tiny | 4 | {{.*}} | whole |
// CHECK: | llama-tiny | 0 | {{.*}} | whole | 0.00 % | 0 | 0.0 % |
// CHECK: 16 pairs, 0 contradictions

// A search with a gap names the plans that hold it; one without has none.
// DEFINE: %{plan} = tpsp-plan %examples/llama-tiny.mlir --forget-placements --hardware h100-sxm --devices 8 --optimizer adamw --overlap off
// RUN: %{plan} --evaluations 3 | FileCheck %s --check-prefix=OPEN
// OPEN: gap {{[0-9.]+}} %: no plan
// OPEN-NEXT: by bounds alone {{.*}} may be faster; the least bound, {{[0-9.]+ [^ ]+s}}, is of {{.+}}
// RUN: %{plan} --max-axes 1 --stages 1 --seconds 0 | FileCheck %s --check-prefix=CLOSED
// CLOSED: gap 0
// CLOSED-NOT: by bounds alone
// RUN: %{plan} --evaluations 3 --json > %t.json
// RUN: python3 -c "import json, sys; s = json.load(open(sys.argv[1]))['search']; assert s['num_open'] >= len(s['open']) > 0; assert all(x['seconds'] < 1 and x['devices_left'] in (1, 2, 4, 8) for x in s['open'])" %t.json
