// Communication of a deep model hides although its arena is full at the peak:
// commands keep their order there, and overlap elsewhere. Buffers of commands
// that start early leave gaps of a tenth in an arena.
// REQUIRES: tpsp-run
// RUN: tpsp-import %S/../Import/Inputs/published/llama-3.1-70b.json --batch 512 --sequence 8192 --dtype bf16 --place fsdp --mesh fsdp=512 -o %t.mlir
// DEFINE: %{run} = tpsp-run %t.mlir --grad --optimizer adamw --rematerialize full --overlap on --simulate --hardware h100-sxm-cluster
// RUN: %{run} --report %t.json | FileCheck %s
// CHECK: step 7.{{[67]}}{{.*}}hidden 9{{[0-9]}} %

// It takes at most 5 % more memory than without overlap.
// RUN: %python -c "import json; m = json.load(open('%t.json'))['memory']; assert m['peak'] <= 1.05 * m['peak_serial'], m"
