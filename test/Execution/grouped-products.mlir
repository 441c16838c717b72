// Products of every row with the matrix that its integer chooses, and their
// gradients. Integers are in any order and out of range. Shards are of rows, of
// blocks of matrices, and of summed and other indices.
// REQUIRES: tpsp-run

// DEFINE: %{run} = tpsp-run %s --grad --verify --quiet
// RUN: %{run}
// RUN: %{run} --mesh ep=2
// RUN: %{run} --mesh tp=3
// RUN: %{run} --mesh ep=2,tp=3,dp=3
// RUN: %{run} --mesh ep=2,tp=3 --dtype bf16
// RUN: %{run} --mesh ep=2 --dtype f16
// RUN: %{run} --mesh tp=3 --dtype f64
// RUN: %{run} --mesh ep=2 --micro-batches 3 --micro-batch-index g
// The matrices themselves divided: integers of other ranks are outside.
// RUN: sed 's/i, f@tp, d/i@tp, f, d/; s/i, d, f@tp/i@tp, d, f/' %s > %t.mlir
// RUN: tpsp-run %t.mlir --mesh tp=5 --grad --verify --quiet
// RUN: tpsp-run %t.mlir --mesh ep=2,tp=5 --grad --verify --quiet
// RUN: tpsp-opt %t.mlir --tpsp-set-mesh=mesh=tp=5 --tpsp-pipeline | FileCheck %s --check-prefix=PART
// PART: plan.grouped_matmul {{.*}}first_group = array<i64: 1, 0, 0, 0, 2>, group_stride = 54 : i64, groups = 1
// One row, and one matrix.
// RUN: %{run} --extent c=1
// RUN: %{run} --extent i=1
// GPUs have the same calls.
// RUN: tpsp-opt %s --tpsp-pipeline=device=cuda | FileCheck %s --check-prefix=GPU
// GPU-NOT: one_hot_einsum
// GPU-COUNT-2: plan.grouped_matmul
// GPU-NOT: one_hot_einsum
tpsp.program <g = 3, j = 2, c = 7, i = 5, f = 9, d = 6> {
mesh @mesh <dp = 1 : data, ep = 1 : model, tp = 1 : model>
func @model(%ids: i32[j@ep, g@dp, c] {tpsp.below = 6}, %x: [j@ep, g@dp, c, d], param %up: [j@ep, i, f@tp, d],
            param %down: [j@ep, i, d, f@tp]) -> ([j@ep, g@dp, c, d] {tpsp.name = "z"}) {
  %u = one_hot_einsum %ids, %up, %x {indices = ["i"]} -> [j, g, c, f, ?]
  %a = silu %u
  %z = one_hot_einsum %ids, %down, %a {indices = ["i"]} -> [j, g, c, d, ?]
  return %z
}
}
