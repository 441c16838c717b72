// The targets of exports know them: transformers' own plan of a Llama,
// torchtitan's keys (0.2, which reads TOML), Megatron's flags.
// REQUIRES: tpsp-run, export-targets

// RUN: tpsp-import %S/Inputs/published/llama-3.1-8b.json --layers 4 --batch 8 --sequence 4096 --dtype bf16 -o %t.mlir
// RUN: %python %S/Inputs/check-exports.py tpsp-plan %t.mlir | FileCheck %s
// CHECK: transformers: 9 modules as its own plan
// CHECK: torchtitan: {{[1-9][0-9]}} keys are fields
// CHECK: megatron-core: {{[1-9][0-9]}} flags are fields
