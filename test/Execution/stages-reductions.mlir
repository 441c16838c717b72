// Stages reduce gradients under the last micro-batch's backward pass, in a
// segment of its own: that of the first chunk, or with weights' gradients of
// their own those of all chunks. The results are those of one rank.
// REQUIRES: tpsp-run
// RUN: mkdir -p %t
// RUN: sed -e 's/pp = 2 : stage, tp = 2 : model/pp = 2 : stage, dp = 2 : data, tp = 1 : model/' -e 's/\[b, s/[b@dp, s/g' -e '/?/s/b@dp/b/' %examples/pp.mlir > %t/dp.mlir
// DEFINE: %{run} = tpsp-run %t/dp.mlir --grad --optimizer adamw --clip 1 --overlap on --verify --quiet
// RUN: %{run} --micro-batches 2
// RUN: %{run} --micro-batches 4 --optimizer-axes dp --stage-chunks 2
// RUN: %{run} --micro-batches 4 --stage-schedule zero-bubble --steps 3 --optimizer-axes dp
// RUN: %{run} --micro-batches 4 --stage-schedule gpipe --rematerialize full --dtype bf16
// RUN: %{run} --micro-batches 4 --stage-chunks 2 --stage-placement folded --stage-schedule zero-bubble

// A table that is the head, too, is reduced after its stages have met.
// DEFINE: %{table} = %%table
// RUN: sed -e 's/, param .head: .v@tp, d.//' -e 's/einsum .head/einsum %{table}/' %t/dp.mlir > %t/tied.mlir
// RUN: tpsp-run %t/tied.mlir --grad --micro-batches 4 --overlap on --verify --quiet --optimizer adamw --clip 1

// The segments, and which of them reduce.
// DEFINE: %{opt} = tpsp-opt %t/dp.mlir '--tpsp-pipeline=grad=true optimizer=adamw clip=1 micro-batches=4 overlap=on hardware=h100-sxm
// RUN: %{opt} stage-schedule=1f1b' | FileCheck %s --check-prefix=FIRST
// FIRST: plan.program @model_grad
// FIRST-SAME: name = "backward 1", peer = -1 : i64, runs = "each"
// FIRST-SAME: name = "backward 0", peer = -1 : i64, runs = "all but last"
// FIRST-SAME: name = "last backward 0", peer = -1 : i64, runs = "last"
// A bucket may have gradients of both chunks of the first stage.
// RUN: %{opt} stage-schedule=1f1b stage-chunks=2' | FileCheck %s --check-prefix=CHUNKS
// CHUNKS: plan.program @model_grad
// CHUNKS-SAME: name = "last backward 0", peer = -1 : i64, runs = "last"
// RUN: %{opt} stage-schedule=zero-bubble' | FileCheck %s --check-prefix=EACH
// EACH: plan.program @model_grad
// EACH-SAME: name = "weights 1", peer = -1 : i64, runs = "all but last"
// EACH-SAME: name = "last weights 1", peer = -1 : i64, runs = "last"
// EACH-SAME: name = "last weights 0", peer = -1 : i64, runs = "last"

// In another order than that of the micro-batches, the update reduces.
// RUN: echo '0F0,0F1,0B1,0B0' > %t/F.csv
// RUN: echo '1F0,1F1,1B1,1B0' >> %t/F.csv
// RUN: %{run} --micro-batches 2 --stage-actions %t/F.csv
