// The examples that are whole models: a training step compiles and is predicted
// with its update, is right at small extents, and trains.
// REQUIRES: tpsp-run

// GPT-2 small has 124439808 parameters: 2 bytes of each in bf16 on every rank;
// of state and master, 12 bytes of each, half.
// RUN: tpsp-run %examples/gpt2-small.mlir --grad --optimizer adamw --clip 1 --optimizer-axes dp --dtype bf16 --simulate --hardware h100-sxm --report %t.json | FileCheck %s --check-prefix=GPT2
// GPT2: update    all_gather
// GPT2: Memory per rank
// GPT2: master
// GPT2: Predicted for h100-sxm
// GPT2: step {{[0-9.]+}} ms, exposed communication
// RUN: FileCheck %s --check-prefix=BYTES --input-file %t.json
// BYTES: "parameters": 248879616,
// BYTES-NEXT: "master": 248879616,
// BYTES-NEXT: "optimizer": 497759232,
// RUN: tpsp-run %examples/gpt2-small.mlir --grad --quiet --verify --optimizer adamw --optimizer-axes dp --clip 1 --mesh dp=2,tp=2 --extent b=2,s=6,d=20,h=2,e=10,v=31,p=7
// On ranks that divide neither heads nor vocabulary.
// RUN: sed 's/%wte: .v, d./%wte: [v@tp, d]/' %examples/gpt2-small.mlir > %t.mlir
// RUN: tpsp-run %t.mlir --grad --quiet --verify --optimizer adamw --clip 1 --mesh dp=1,tp=8 --pad h=8,v=8 --extent b=2,s=8,d=16,h=3,e=16,v=31,p=8
// RUN: tpsp-run %t.mlir --grad --mesh dp=1,tp=8 --pad h=8,v=8 --simulate --hardware h100-sxm | FileCheck %s --check-prefix=PADDED
// PADDED: Padded indices
// PADDED-NEXT: h                      12 to 16 (+33.33 %)
// PADDED-NEXT: v                   50257 to 50264 (+0.01 %)
// RUN: tpsp-opt %t.mlir --tpsp-collective-pipeline="grad=true pad=h=8,v=8" -o /dev/null

// The training of scripts/demo-train, shorter and smaller.
// RUN: sed -n '/^exec/,$p' %examples/../scripts/demo-train | sed 's#build/bin/tpsp-train#%tools_dir/tpsp-train#; $s/$/ --batch 2 --extent s=64/' > %t.sh
// RUN: rm -rf %t.demo
// RUN: cd %examples/.. && env out=%t.demo steps=2 bash %t.sh | FileCheck %s --check-prefix=DEMO
// DEMO: 4852992 parameters on 2 ranks, {{.*}} tokens, 128 a step (2 x 64)
// DEMO: step 1/2  loss {{.*}}  norm {{.*}}  lr {{.*}} tokens/s
// DEMO: step 2 evaluation: loss
// DEMO: done: step 2; checkpoint in {{.*}}step-00000002; metrics in {{.*}}metrics.jsonl; curves in {{.*}}.svg
// RUN: grep -c eval_loss %t.demo/metrics.jsonl
