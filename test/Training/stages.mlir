// Losses of a pipeline are those of one rank, whichever mesh a run goes on with.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir -p %t
// RUN: sed 's/<dp = 2 : data, tp = 1 : model>/<pp = 2 : stage, dp = 1 : data, tp = 1 : model>/' %examples/llama-tiny.mlir > %t/m.mlir
// DEFINE: %{train} = tpsp-train %t/m.mlir --data %S/../../README.md --extent s=16 --batch 4 --micro-batches 2 --log-every 1 --clip 1 --schedule constant --warmup 0
// RUN: %{train} --mesh pp=1 --steps 8 --out %t/one
// RUN: %{train} --steps 4 --out %t/run
// RUN: %{train} --mesh pp=1,tp=2 --steps 6 --resume %t/run
// RUN: %{train} --mesh pp=3 --stage-schedule zero-bubble --steps 8 --resume %t/run
// RUN: %python %S/Inputs/compare-losses.py %t/one/metrics.jsonl %t/run/metrics.jsonl 1e-6
