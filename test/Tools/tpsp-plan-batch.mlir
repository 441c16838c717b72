// A program that is not linear in a sum over the batch cannot be cut into
// micro-batches. The planner asks the compiler once and plans without them. If
// micro-batches are requested, that is an error.
// REQUIRES: tpsp-run
// DEFINE: %{plan} = tpsp-plan %s --hardware h100-sxm --devices 4 --overlap off

// RUN: %{plan} --memory 5KiB | FileCheck %s --implicit-check-not="({{[0-9]+}} micro-batches"
// CHECK: {{^}} 1
// CHECK: gap 0: no plan with at most 3 axes and no micro-batches is faster

// RUN: %S/Inputs/exits 1 %{plan} --stages 2 2>&1 | FileCheck %s --check-prefix=STAGES
// STAGES: tpsp-plan: 2 stages take as many micro-batches, and index 'b' cannot be cut into so many; give fewer stages
// RUN: %S/Inputs/exits 1 %{plan} --micro-batches 2 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: tpsp-plan: 2 micro-batches of index 'b': {{.*}}tpsp-plan-batch.mlir:32:8: 'tpsp.square' op operand #0 is a sum over 'b'
// RUN: %{plan} --micro-batches 1 | FileCheck %s

// Written stages do not simulate a program that cannot be cut.
// RUN: %{plan} --pin b@dp=2,e@tp=2 -o - | sed 's/mesh @mesh </mesh @mesh <pp = 2 : stage, /' > %t.mlir
// RUN: not tpsp-run %t.mlir --grad --simulate --hardware h100-sxm --micro-batches 2 2>&1 | FileCheck %s --check-prefix=SIMULATED
// RUN: not tpsp-run %t.mlir --grad --simulate --hardware h100-sxm --micro-batches 2 --mesh pp=1 2>&1 | FileCheck %s --check-prefix=SIMULATED
// SIMULATED: error: 'tpsp.square' op operand #0 is a sum over 'b'

tpsp.program <b = 4, d = 8, e = 16> {
func private @layer(%x: [b, d, ?], param %w: [e, d, ?], param %v: [d, e, ?]) -> [b, d, ?] {
  %u = einsum %w, %x -> [b, e, ?]
  %y = einsum %v, %u -> [b, d, ?]
  return %y
}
func @model(%x: [b, d, ?]) -> [] {
  %y = repeat 4 @layer(%x) as "layers.#.*"
  %m = reduce %y {kind = "sum"} -> [d, ?]
  %q = square %m
  %l = mean %q -> []
  return %l
}
}
