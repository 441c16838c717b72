// The planner decides for each plan whether attention's keys are gathered along
// an axis on positions or go around a ring. Here only a ring fits. The command at
// the head predicts the plan as it was judged.
// REQUIRES: tpsp-run
// DEFINE: %{plan} = tpsp-plan %s --hardware h100-sxm --devices 8 --max-axes 1 --seconds 0 --json

// RUN: %{plan} --memory 2GiB -o %t.mlir > %t.json
// RUN: FileCheck %s --input-file %t.mlir --check-prefix HEAD
// RUN: head -8 %t.mlir | sed -n 's|^//.* THIS.mlir|tpsp-run %t.mlir --quiet --report %t.run.json|p' > %t.sh
// RUN: sh %t.sh && python3 %S/Inputs/same-prediction.py %t.json %t.run.json
// HEAD: // cp=8: s@cp, ring @cp
// HEAD-NEXT: // Ring
// HEAD: --attention ring

// With more memory, gathered keys are faster. An option leaves out one of both.
// RUN: %{plan} | FileCheck %s --check-prefix BOTH
// BOTH: "name": "CP 8"
// BOTH: "name": "Ring 8"
// RUN: %{plan} --attention ring | FileCheck %s --check-prefix RING
// RING-NOT: "name": "CP 8"
// RING: "name": "Ring 8"
// RING-NOT: "name": "CP 8"
// RUN: %{plan} --attention fused | FileCheck %s --check-prefix FUSED
// FUSED-NOT: Ring
// FUSED: "name": "CP 8"
// FUSED-NOT: Ring

// Halves of shards need positions that twice the ranks divide.
// RUN: %{plan} --extent s=49160 | FileCheck %s --check-prefix FUSED

tpsp.program bf16 <b = 1, s = 49152, t = s, h = 37, k = 128, d = 64> {
func @f(%x: [b, s, d, ?], param %wq, %wk, %wv: [h, k, d, ?],
        param %wo: [d, h, k, ?]) -> [b, s, d, ?] {
  %q = einsum %wq, %x -> [b, s, h, k, ?]
  %k = einsum %wk, %x -> [b, s, h, k, ?]
  %v = einsum %wv, %x -> [b, s, h, k, ?]
  %kt = rename %k -> [b, t, h, k, ?]
  %vt = rename %v -> [b, t, h, k, ?]
  %o = attention %q, %kt, %vt {query = "s", key = "t", feature = "k", causal}
  %y = einsum %wo, %o -> [b, s, d, ?]
  return %y
}
}
