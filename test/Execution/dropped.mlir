// The report says how many choices find no place. All choose expert 0 here, which
// has 4 places for the 10 choices of each of 6 groups. The count has no gradient,
// sends nothing, and is the same on every mesh.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: tpsp-run %s --grad --verify --mesh ep=2 | FileCheck %s
// RUN: tpsp-run %s --grad --verify --mesh ep=3 --dtype bf16 | FileCheck %s
// RUN: tpsp-run %s --grad --mesh ep=2 --micro-batches 3 --micro-batch-index g | FileCheck %s
// RUN: tpsp-run %s --mesh ep=2 | FileCheck %s
// CHECK: {{^}}dropped 36
// More than is allowed is an error, after the report.
// RUN: tpsp-run %s --mesh ep=2 --quiet --max-dropped 36
// RUN: not tpsp-run %s --mesh ep=2 --max-dropped 35 2>&1 | FileCheck %s --check-prefixes=CHECK,MORE
// MORE: {{^}}tpsp-run: 36 choices of tokens found no place at their experts, and --max-dropped allows 35; give experts more slots or rows, by --extent of their index{{$}}
// With places for all the report says nothing.
// RUN: tpsp-run %s --grad --verify --extent c=10 --max-dropped 0 | FileCheck %s --check-prefix=NONE
// NONE-NOT: dropped
// With blocks as many choices find no place.
// RUN: sed 's/dispatch %%choice, %%x {expert = "e"/dispatch %%choice, %%load, %%x {expert = "i"/; s/\[e@ep, g, c, d\]/[j@ep, g, c, d]/' %s > %t.mlir
// RUN: tpsp-run %t.mlir --grad --verify --mesh ep=2 | FileCheck %s
tpsp.program <g = 6, s = 5, d = 3, e = 6, j = 6, i = 1, k = 2, c = 4> {
mesh @mesh <ep = 1 : model>
func @model(%choice: i32[g@ep, s, k] {tpsp.below = 1}, %x: [g@ep, s, d]) -> ([] {tpsp.name = "loss"}) {
  %load = count_values %choice {over = ["s", "k"], of = ["j", "i"]}
  %y = dispatch %choice, %x {expert = "e", slot = "c", choice = "k"} -> [e@ep, g, c, d]
  %q = square %y
  %loss = mean %q -> []
  return %loss
}
}
