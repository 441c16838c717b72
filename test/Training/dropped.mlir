// Training says how many choices of tokens have found no place, where there may be
// such, on every step and in its metrics.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && split-file %s %t
// RUN: tpsp-import %t/config.json --sequence 16 --batch 4 --capacity-factor 0.5 --place ep -o %t/slots.mlir
// RUN: tpsp-train %t/slots.mlir --data %s --steps 2 --out %t/slots --log-every 1 --eval-data %s --eval-every 2 2>&1 | FileCheck %s --check-prefix=SLOTS
// SLOTS: step 1/2  loss {{[0-9.]+}}  norm {{[0-9.]+}}  dropped {{[1-9][0-9]*}}  lr
// SLOTS: evaluation: loss
// RUN: FileCheck %s --check-prefix=METRICS < %t/slots/metrics.jsonl
// METRICS: "norm":{{[0-9.]+}},"dropped":{{[1-9]}}
// With --max-dropped a step that drops more ends the run, and names the checkpoint before.
// RUN: not tpsp-train %t/slots.mlir --data %s --steps 2 --max-dropped 0 2>&1 | FileCheck %s --check-prefix=ENDED
// ENDED: {{^}}tpsp-train: step 1: {{[1-9][0-9]*}} choices of tokens found no place at their experts, and --max-dropped allows 0; give experts more slots or rows, by --extent of their index{{$}}
// RUN: not tpsp-train %t/slots.mlir --data %s --resume %t/slots --steps 4 --max-dropped 0 2>&1 | FileCheck %s --check-prefix=RESUMED
// RESUMED: step 3: {{.*}} by --extent of their index; the last checkpoint is of step 2, in '{{.*}}slots'{{$}}
// RUN: tpsp-import %t/config.json --sequence 16 --batch 4 --place ep -o %t/rows.mlir
// RUN: tpsp-train %t/rows.mlir --data %s --steps 2 --out %t/rows --log-every 1 --max-dropped 0 2>&1 | FileCheck %s --check-prefix=ROWS --implicit-check-not=" dropped "
// ROWS: step 2/2

//--- config.json
{"model_type": "qwen3_moe", "hidden_size": 16, "intermediate_size": 10, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 2, "head_dim": 4, "vocab_size": 256, "num_experts": 4, "num_experts_per_tok": 2,
 "moe_intermediate_size": 5}
