// Fields that --export torchtitan sets are those of its configuration.
// REQUIRES: tpsp-run, torchtitan-0.3

// RUN: tpsp-import %S/Inputs/published/llama-3.1-8b.json --layers 4 --batch 8 --sequence 4096 --dtype bf16 -o %t.mlir
// RUN: %python %S/Inputs/check-exports.py torchtitan tpsp-plan %t.mlir | FileCheck %s
// CHECK: torchtitan: {{[1-9][0-9]}} keys are fields
