// Flags of --export megatron are in a table of Megatron-LM's flags, which says
// where they come from. It needs no package.
// REQUIRES: tpsp-run

// RUN: tpsp-import %S/Inputs/published/llama-3.1-8b.json --layers 4 --batch 8 --sequence 4096 --dtype bf16 -o %t.mlir
// RUN: %python %S/Inputs/check-exports.py megatron-flags tpsp-plan %t.mlir | FileCheck %s
// CHECK: Megatron-LM: {{[1-9][0-9]}} flags are in the table
