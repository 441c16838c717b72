// Training on numbers of ranks that divide no extent, FSDP and ZeRO-1: losses are
// those of one rank, and a checkpoint goes on with any other number, with
// stages too (docs/decisions/0035).
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir -p %t
// RUN: sed -E 's/(h|e|v)@tp/\1@tp@dp/g; s/<dp = 2 : data, tp = 1 : model>/<pp = 1 : stage, dp = 1 : data, tp = 1 : model>/' %examples/llama-tiny.mlir > %t/fsdp.mlir
// RUN: sed 's/<dp = 2 : data, tp = 1 : model>/<pp = 1 : stage, dp = 1 : data, tp = 1 : model>/' %examples/llama-tiny.mlir > %t/zero.mlir
// DEFINE: %{options} = --data %S/../../README.md --extent s=8 --batch 30 --log-every 1 --clip 1 --schedule constant --warmup 0
// RUN: tpsp-train %t/zero.mlir %{options} --steps 8 --out %t/one
// RUN: tpsp-train %t/fsdp.mlir %{options} --mesh dp=3 --steps 2 --out %t/run
// RUN: tpsp-train %t/zero.mlir %{options} --mesh dp=5 --optimizer-axes dp --steps 4 --resume %t/run
// RUN: tpsp-train %t/fsdp.mlir %{options} --mesh pp=2,dp=3 --micro-batches 2 --steps 6 --resume %t/run
// RUN: tpsp-train %t/fsdp.mlir %{options} --mesh dp=3,tp=2 --steps 8 --resume %t/run
// RUN: %python %S/Inputs/compare-losses.py %t/one/metrics.jsonl %t/run/metrics.jsonl 1e-6
