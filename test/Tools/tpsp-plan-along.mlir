// The best plan as an index gets longer, and both sides of every change.
// REQUIRES: tpsp-run
// DEFINE: %{plan} = tpsp-plan %examples/llama-tiny.mlir --forget-placements --hardware h100-sxm --devices 4 --max-axes 1 --finalists 1 --overlap off

// A plan that the extent does not allow is illegal below, not just slower.
// RUN: %{plan} --along b=2:4 | FileCheck %s
// CHECK: The best plans for {{.*}} on 4 devices of h100-sxm, 74.5 GiB each, along b
// CHECK: {{^}}         2 {{.*}}
// CHECK: {{^}}         4  DP 4 {{.*}} dp=4: b@dp
// CHECK: DP 4 from b = 4 on, in place of
// CHECK-NEXT: at b = 2: {{.*}}s, DP 4 illegal ({{.*}} has extent 2, which its axes (dp: 4 ranks) do not divide
// CHECK-NEXT: at b = 4: {{.*}}s, DP 4 {{.*}}s

// RUN: not %{plan} --along zz=1:4 2>&1 | FileCheck %s --check-prefix=INDEX
// INDEX: tpsp-plan: --along: the program has no index 'zz'
// RUN: not %{plan} --along b=4:2 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: --along: expected an index, or index=first:last with extents of at least 1, such as s=1024:131072, not 'b=4:2'

// An extent that no plan divides has its reason in its row.
// RUN: %{plan} --pin b@dp=4 --along b=2:4 | FileCheck %s --check-prefix=NONE
// NONE: {{^}}         2  none: {{.+}}
// NONE: {{^}}         4  {{.*}}DP 4
