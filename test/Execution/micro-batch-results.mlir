// What a step of micro-batches returns: a result twice, rows whose gradient is
// scaled, a gradient that each micro-batch reduces.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: tpsp-run %t/twice.mlir --grad --verify --quiet --micro-batches 4
// RUN: tpsp-run %t/twice.mlir --grad --verify --quiet --micro-batches 4 --reduce-gradients part --mesh dp=1,tp=2
// RUN: tpsp-run %t/twice.mlir --grad --verify --quiet --micro-batches 2 --reduce-gradients part --mesh dp=2,tp=2

// A cotangent of rows is another one in every micro-batch.
// RUN: tpsp-run %t/rows.mlir --grad --verify --quiet --micro-batches 4 --optimizer sgd --loss-scale 8
// RUN: tpsp-run %t/rows.mlir --grad --verify --quiet --micro-batches 2 --optimizer adamw --loss-scale dynamic --steps 2

//--- twice.mlir
tpsp.program <b = 8, d = 6, e = 4> {
mesh @mesh <dp = 2 : data, tp = 1 : model>
func @f(%x: [b@dp, d], param %w: [e, d], param %v: [e@tp]) -> ([], []) {
  %y = einsum %w, %x -> [b, e@tp]
  %t = tanh %y
  %loss = einsum %v, %t -> []
  return %loss, %loss
}
}

//--- rows.mlir
tpsp.program <b = 8, v = 3, d = 2> {
mesh @mesh <dp = 1 : data>
func @f(%ids: i32[b@dp], param %table: [v, d]) -> [b@dp, d] {
  %rows = embedding %ids, %table {vocabulary = "v"}
  return %rows
}
}
