// The configurations in pip's wheel of Megatron are made from the flags of
// --export megatron, and accept them.
// REQUIRES: tpsp-run, megatron-core

// RUN: tpsp-import %S/Inputs/published/llama-3.1-8b.json --layers 4 --batch 8 --sequence 4096 --dtype bf16 -o %t.mlir
// RUN: %python %S/Inputs/check-exports.py megatron-core tpsp-plan %t.mlir | FileCheck %s
// CHECK: megatron-core: {{[1-9][0-9]}} flags made configurations of {{[1-9]}} plans
