// --export hf is transformers' own plan of a Llama.
// REQUIRES: tpsp-run, hf-source

// RUN: tpsp-import %S/Inputs/published/llama-3.1-8b.json --layers 4 --batch 8 --sequence 4096 --dtype bf16 -o %t.mlir
// RUN: %python %S/Inputs/check-exports.py hf tpsp-plan %t.mlir | FileCheck %s
// CHECK: transformers: 9 modules as its own plan
