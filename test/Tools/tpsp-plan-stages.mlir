// Pipelines in the planner: with a slow network and large parameters, stages
// are best. The planned figures are those of tpsp-run --simulate.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// DEFINE: %{on} = %t/m.mlir --hardware %t/slow.json --devices 4 --overlap off --optimizer adamw

// Five layers of a chunk are judged by two, and one more; the best is compiled
// whole.
// RUN: tpsp-plan %{on} --max-axes 1 -o %t/placed.mlir | FileCheck %s
// CHECK: 1 PP 4 (8 micro-batches, 1f1b) pp=4: layers @pp
// CHECK: slower by {{.*}}: all_reduce over tp
// CHECK: composed of layers; of {{[0-9]+}} compiled whole, times differ by at most {{[01]\.[0-9]}} %
// CHECK: gap 0
// RUN: FileCheck %s --check-prefix=PLACED < %t/placed.mlir
// PLACED: // pp=4: layers @pp
// PLACED-NEXT: // PP 4
// PLACED: tpsp-run THIS.mlir --grad --optimizer adamw --micro-batches 8 --hardware {{.*}}slow.json --stage-schedule 1f1b --simulate
// PLACED: mesh @mesh <pp = 4 : stage>

// The same figures, to the byte, also with another axis and with several
// chunks.
// RUN: tpsp-plan %{on} --stages 2 --stage-chunks 5 --micro-batches 8 --stage-schedule zero-bubble --json -o %t/two.mlir > %t/plan.json
// RUN: FileCheck %s --check-prefix=JSON < %t/plan.json
// JSON: "role": "stage"
// JSON: "micro_batches": 8,
// JSON: "schedule": "zero-bubble"
// JSON: "stage_chunks": 5
// JSON: "bubble": 0.{{[0-9]+}}
// JSON: "bubble":
// RUN: tpsp-run %t/two.mlir --grad --optimizer adamw --micro-batches 8 --stage-schedule zero-bubble --stage-chunks 5 --simulate --hardware %t/slow.json --quiet --report %t/run.json
// RUN: python3 %S/Inputs/same-step.py %t/plan.json %t/run.json

// Without stages, and with a given number.
// RUN: tpsp-plan %{on} --max-axes 1 --stages 1 | FileCheck %s --check-prefix=NONE
// NONE-NOT: PP
// NONE: gap 0
// RUN: tpsp-plan %{on} --stages 4 --export megatron | FileCheck %s --check-prefix=MEGATRON
// MEGATRON: --pipeline-model-parallel-size 4

// If sends are quick and micro-batches few, chunks make the bubble smaller.
// RUN: tpsp-plan %t/m.mlir --hardware h100-sxm --devices 4 --overlap off --optimizer adamw --stages 4 --micro-batches 4 | FileCheck %s --check-prefix=CHUNKS
// CHUNKS: 1 PP 4 (4 micro-batches, 1f1b of 5 chunks) pp=4: layers @pp

// Stages that are written stay.
// RUN: sed 's/^func private/mesh @mesh <mine = 2 : stage>\nfunc private/' %t/m.mlir > %t/written.mlir
// RUN: tpsp-plan %t/written.mlir --hardware %t/slow.json --devices 4 --overlap off --optimizer adamw --micro-batches 8 | FileCheck %s --check-prefix=WRITTEN
// WRITTEN: 1 PP 2 x {{.*}} mine=2 {{.*}} layers @mine
// RUN: %S/Inputs/exits 1 tpsp-plan %t/written.mlir --hardware %t/slow.json --devices 4 --stages 4 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: tpsp-plan: the program's mesh has 2 stages, and --stages says 4; leave out the option, or the mesh

// RUN: %S/Inputs/exits 1 tpsp-plan %{on} --stages 3 2>&1 | FileCheck %s --check-prefix=DEVICES
// DEVICES: tpsp-plan: --stages 3 does not divide 4 devices
// RUN: %S/Inputs/exits 1 tpsp-plan %{on} --stages 32 2>&1 | FileCheck %s --check-prefix=LAYERS
// LAYERS: tpsp-plan: --stages 32 are more than the program's layers (calls of functions), of which it has 20; give at most as many
// RUN: %S/Inputs/exits 1 tpsp-plan %{on} --stages 4 --stage-chunks 6 2>&1 | FileCheck %s --check-prefix=FEW
// FEW: tpsp-plan: 4 stages of --stage-chunks 6 take 24 layers (calls of functions), and the program has 20; give fewer chunks
// RUN: %S/Inputs/exits 1 tpsp-plan %{on} --stages 4 --micro-batches 2 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: tpsp-plan: 4 stages take as many micro-batches, and --micro-batches says 2; give fewer stages
// RUN: %S/Inputs/exits 1 tpsp-plan %{on} --stages 4 --loss-scale dynamic 2>&1 | FileCheck %s --check-prefix=SCALE
// SCALE: tpsp-plan: --loss-scale is not simulated with stages; leave it out
// RUN: %S/Inputs/exits 2 tpsp-plan %{on} --stage-schedule dualpipe 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// SCHEDULE: tpsp-plan: --stage-schedule: {{.*}}dualpipe

//--- slow.json
{"base": "h100-sxm", "name": "slow", "tiers": {"inside_node": "nvlink"},
 "collectives": [
   {"kind": "all_reduce", "algorithm": "ring", "tier": "nvlink", "latency_us": 7, "hop_us": 1, "bus_gbs": 2},
   {"kind": "all_gather", "algorithm": "ring", "tier": "nvlink", "latency_us": 7, "hop_us": 1, "bus_gbs": 2},
   {"kind": "reduce_scatter", "algorithm": "ring", "tier": "nvlink", "latency_us": 7, "hop_us": 1, "bus_gbs": 2},
   {"kind": "all_to_all", "algorithm": "ring", "tier": "nvlink", "latency_us": 7, "hop_us": 1, "bus_gbs": 2},
   {"kind": "permute", "algorithm": "ring", "tier": "nvlink", "latency_us": 7, "hop_us": 1, "bus_gbs": 2}]}

//--- m.mlir
tpsp.program bf16 <b = 16, s = 256, d = 1024, e = 8192> {
func private @layer(%x: [b, s, d, ?], param %gain "norm": [d, ?], param %up: [e, d, ?], param %down: [d, e, ?]) -> [b, s, d, ?] {
  %n = rms_norm %x, %gain
  %u = einsum %up, %n -> [b, s, e, ?]
  %a = silu %u
  %y = einsum %down, %a -> [b, s, d, ?]
  %z = add %x, %y
  return %z
}

func @model(%x: [b, s, d, ?]) -> [b, s, d, ?] {
  %y = repeat 20 @layer(%x) as "layers.#.*"
  return %y
}
}
