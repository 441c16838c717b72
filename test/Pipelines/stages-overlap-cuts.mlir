// A segment needs all of a gathered tensor that another segment has gathered
// and cut together with its products: with zero-bubble, the weights' gradients
// read what the backward pass has rematerialised.
// RUN: tpsp-import %S/../Import/Inputs/published/llama-3.1-405b.json --layers 2 --batch 64 --sequence 8192 --dtype bf16 --place pp-dp-tp-sp --mesh pp=2,dp=8,tp=8 -o %t.mlir
// RUN: tpsp-opt %t.mlir '--tpsp-pipeline=grad=true rematerialize=full micro-batches=8 stage-schedule=zero-bubble overlap=on hardware=h100-sxm-cluster' | FileCheck %s
// CHECK: plan.program @model_grad
