// Micro-batches that are written out communicate alike, however many layers and gradients there are.
// The last also reduces the gradients.
// DEFINE: %{part} =
// DEFINE: %{moves} = grep -E "origin<.*part = %{part}>" %t.all | grep -oE "(all_gather|all_reduce|reduce_scatter|all_to_all|permute) .*" | sed -E "s/%%[a-z0-9_#]+//g; s/part = [0-9]+//" | sort

// RUN: sed "s/repeat 6/repeat 24/; s/<b = 16/<b = 64/" %examples/llama-tiny.mlir | tpsp-opt --tpsp-set-mesh=mesh=dp=2,tp=2 --tpsp-collective-pipeline="grad=true micro-batches=4 bucket-bytes=0 overlap=on" -o %t.all
// REDEFINE: %{part} = 0
// RUN: %{moves} > %t.first
// REDEFINE: %{part} = 2
// RUN: %{moves} | diff %t.first -
// REDEFINE: %{part} = 3
// RUN: %{moves} | comm -23 %t.first - | count 0
// RUN: wc -l < %t.first | FileCheck %s
// Each of 24 layers has 4 in a forward pass, which two functions have, and 6 in
// the backward pass.
// CHECK: 349
