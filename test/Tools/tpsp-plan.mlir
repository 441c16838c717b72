// The planner as people use it: a table, JSON, and a program that runs.
// REQUIRES: tpsp-run
// DEFINE: %{on} = --hardware h100-sxm --devices 4 --max-axes 1 --overlap off

// The table has the best plan, why others are not, the bill and the search.
// RUN: tpsp-plan %s %{on} -o %t.placed.mlir | FileCheck %s --check-prefix=TABLE
// TABLE: Plans for mlp on 4 devices of h100-sxm, 74.5 GiB each
// TABLE: plan {{.*}}subscripts {{.*}}why not first
// TABLE-NEXT: 1 {{.*}}=4: {{.*}}
// TABLE-DAG: slower by {{.*}}s: {{.*}} +
// TABLE-DAG: illegal: {{.*}} has extent 6, which its axes (dp: 4 ranks) do not divide
// TABLE: Memory of plan 1, per rank, of 74.5 GiB
// TABLE-NEXT: parameters
// TABLE: to spare
// TABLE: Searched in {{.*}} evaluations
// TABLE: gap 0: no plan with at most 1 axis and {{.*}}micro-batches{{.*}} is faster
// TABLE-NEXT: the space: at most 1 axis; {{.*}}; the least that fits of no{{.*}} rematerialisation

// The output is a program with a mesh, which runs unchanged. A called function
// has the arguments' subscripts, too.
// RUN: FileCheck %s --check-prefix=PLACED < %t.placed.mlir
// PLACED: // {{[a-z]+}}=4:
// PLACED: tpsp-run THIS.mlir --grad
// PLACED: tpsp.program <b = 6, s = 32, d = 64, e = 128> {
// PLACED-NEXT: mesh @mesh <[[AXIS:[a-z]+]] = 4 :
// PLACED: func private @half(
// PLACED-NEXT: %x: [{{.*}}@[[AXIS]]
// PLACED: %n = rms_norm %x, %gain
// PLACED: %z = call @half(%y, %gain) as "*2"
// RUN: tpsp-run %t.placed.mlir --grad --verify --quiet

// The command at its head has all options with which it was judged, so it needs
// the same bytes. Defaults of tpsp-run are left out.
// RUN: tpsp-plan %s %{on} --optimizer adamw --clip 1 --micro-batches 2 --reduce-gradients part --reduce-dtype bf16 --epilogues off --json -o %t.flags.mlir > %t.flags.json
// RUN: FileCheck %s --check-prefix=FLAGS < %t.flags.mlir
// FLAGS: tpsp-run THIS.mlir --grad --optimizer adamw{{.*}} --clip 1 --reduce-dtype bf16 --reduce-gradients part --micro-batches 2 --epilogues off --hardware h100-sxm --simulate{{$}}
// RUN: sed -n 's|^//.* THIS.mlir|tpsp-run %t.flags.mlir|p' %t.flags.mlir > %t.sh
// RUN: sed -i 's|$| --report %t.flags.run.json|' %t.sh
// RUN: sh %t.sh
// RUN: python3 %S/Inputs/same-memory.py %t.flags.json %t.flags.run.json

// -o - prints it instead of the table.
// RUN: tpsp-plan %s %{on} -o - > %t.printed.mlir
// RUN: diff %t.placed.mlir %t.printed.mlir
// RUN: not tpsp-plan %s %{on} -o - --json 2>&1 | FileCheck %s --check-prefix=PRINTED
// PRINTED: --json and -o - both say what is printed; give a path

// On this machine's kind of ranks a run needs the bytes that the plan has.
// RUN: tpsp-plan %s --hardware cpu --devices 4 --overlap off --json -o %t.cpu.mlir > %t.plan.json
// RUN: tpsp-run %t.cpu.mlir --grad --verify --quiet --report %t.run.json
// RUN: python3 %S/Inputs/same-memory.py %t.plan.json %t.run.json

// The same as JSON.
// RUN: tpsp-plan %s %{on} --json | FileCheck %s --check-prefix=JSON
// JSON: "format": "tpsp-plan-1"
// JSON: "search": {
// JSON: "gap": 0
// JSON: "ties": []
// JSON: "space": {
// JSON: "max_axes": 1
// JSON: "rank": 1,
// JSON: "mesh": [
// JSON: "seconds":
// JSON: "total":
// JSON: "others": [
// Plans of one name have labels that differ.
// RUN: tpsp-plan %s %{on} --json | python3 -c "import json, sys; p = json.load(sys.stdin)['plans']; n = [x['name'] for x in p]; l = [x['label'] for x in p]; assert len(set(n)) < len(n) == len(set(l)), l"

// Two plans, part by part; changes that would reorder them; a picture.
// RUN: tpsp-plan %s %{on} --compare "1,TP 4" --pareto %t.svg | FileCheck %s --check-prefix=COMPARE
// COMPARE: Margins of plan 1: {{.*}} to spare
// COMPARE: A: {{.*}}=4:
// COMPARE-NEXT: B: TP 4 [tp=4: parameters
// COMPARE: step {{.*}}s
// COMPARE: parameters {{.*}}iB
// RUN: FileCheck %s --check-prefix=SVG < %t.svg
// SVG: <svg
// SVG: limit 74.5 GiB, far from all plans
// SVG: <circle
// RUN: not tpsp-plan %s %{on} --compare 1,99 2>&1 | FileCheck %s --check-prefix=WHICH
// WHICH: --compare: no plan is called '99'; give a rank, a usual name or the subscripts of a plan, as the table has them
// A named plan is compiled, even if bounds say that it is slower. Names may be
// subscripts, which have commas.
// RUN: tpsp-plan %s --hardware h100-sxm --devices 4 --overlap off --max-axes 2 --compare "TP 4,dp=2 tp=2: b@dp, parameters e@tp" | FileCheck %s --check-prefix=NAMED-PLANS
// NAMED-PLANS: A: TP 4 [tp=4: parameters
// NAMED-PLANS-NEXT: B: DP 2 x TP 2 [dp=2 tp=2: b@dp, parameters e@tp]
// RUN: tpsp-plan %s %{on} --evaluations 1 --compare "1,TP 4" | FileCheck %s --check-prefix=COMPARE

// Other extents apply to the search and to the written program.
// RUN: tpsp-plan %s %{on} --extent b=8 --extent s=20 -o %t.other.mlir | FileCheck %s --check-prefix=EXTENTS
// EXTENTS-NOT: illegal: {{.*}}extent 6
// RUN: FileCheck %s --check-prefix=OTHER < %t.other.mlir
// OTHER: tpsp.program <b = 8, s = 20, d = 64, e = 128> {
// RUN: tpsp-run %t.other.mlir --grad --verify --quiet
// Tokens count even if a table of positions has their index.
// RUN: tpsp-import %S/../Import/Inputs/published/gpt2-xl.json --layers 1 --batch 4 --sequence 64 -o %t.gpt2.mlir
// RUN: tpsp-plan %t.gpt2.mlir %{on} --evaluations 1 --json | python3 -c "import json, sys; p = json.load(sys.stdin); assert p['tokens'] == 256, p['tokens']"
// RUN: tpsp-plan %s %{on} --extent b=8 --extent s=20 --json | python3 -c "import json, sys; p = json.load(sys.stdin); assert p['tokens'] == 160, p['tokens']"

// The plan in other systems' terms.
// RUN: tpsp-plan %s %{on} --pin e@tp,s@tp --export megatron | FileCheck %s --check-prefix=MEGATRON
// MEGATRON: --tensor-model-parallel-size 4
// RUN: tpsp-plan %s %{on} --pin e@tp --export hf | FileCheck %s --check-prefix=HF
// HF-DAG: "up": "colwise"
// HF-DAG: "down": "rowwise"
// RUN: tpsp-plan %s %{on} --export json | FileCheck %s --check-prefix=NEUTRAL
// NEUTRAL: "format": "tpsp-placement-1"
// RUN: not tpsp-plan %s %{on} --pin s@cp --export hf 2>&1 | FileCheck %s --check-prefix=NOWORD
// NOWORD: tpsp-plan: transformers can express no plan of the table; plan 1 is {{.*}}: transformers' base_model_tp_plan says tensor parallelism and nothing else; --pin one axis of all devices on an index that parameters have. --for hf searches what it can express

// One device has no mesh, and its subscripts are not mentioned.
// RUN: tpsp-plan %s --hardware h100-sxm --devices 1 -o %t.one.mlir | FileCheck %s --check-prefix=DEVICE
// DEVICE: on 1 device of h100-sxm
// DEVICE: {{^}} 1 one device {{[0-9]}}
// RUN: head -1 %t.one.mlir | FileCheck %s --check-prefix=NAMED
// NAMED: {{^}}// one device{{$}}

// A pin is kept, with its name and size; the state is divided for an optimizer.
// RUN: tpsp-plan %s --hardware h100-sxm --devices 4 --overlap off --pin b@mine=2 --optimizer adamw --max-axes 2 -o %t.pinned.mlir | FileCheck %s --check-prefix=PIN
// PIN: 1 {{.*}}mine=2
// RUN: tpsp-plan %s %{on} --optimizer adamw --pin s@dp | FileCheck %s --check-prefix=STATE
// STATE: state @dp

// On two nodes the machine is a cluster.
// RUN: tpsp-plan %s --hardware h100-sxm --devices 16 --max-axes 2 --evaluations 8 --overlap off | FileCheck %s --check-prefix=NODES
// NODES: on 16 devices of h100-sxm-cluster

// Placed values stay: here nothing is left to plan.
// RUN: not tpsp-plan %t.placed.mlir %{on} 2>&1 | FileCheck %s --check-prefix=ALL
// ALL: places all of its arguments; leave one unplaced ('?'), or give --forget-placements
// RUN: tpsp-plan %t.placed.mlir %{on} --forget-placements | FileCheck %s --check-prefix=TABLE

// A program for one device, which has no mesh, places nothing.
// RUN: sed '/^!/s/, ?>/>/' %s > %t.single.mlir
// RUN: tpsp-plan %t.single.mlir %{on} | FileCheck %s --check-prefix=TABLE

!x    = tensor<6x32x64xf32, #tpsp.idx<b, s, d, ?>>
!mid  = tensor<6x32x128xf32, #tpsp.idx<b, s, e, ?>>
!up   = tensor<128x64xf32, #tpsp.idx<e, d, ?>>
!down = tensor<64x128xf32, #tpsp.idx<d, e, ?>>
!gain = tensor<64xf32, #tpsp.idx<d, ?>>

func.func private @half(%x: !x, %gain: !gain, %up: !up, %down: !down) -> !x {
  %n = tpsp.rms_norm %x, %gain : (!x, !gain) -> !x
  %u = tpsp.einsum %up, %n : (!up, !x) -> !mid
  %a = tpsp.gelu %u : !mid
  %y = tpsp.einsum %down, %a : (!down, !mid) -> !x
  %z = tpsp.add %x, %y : !x
  return %z : !x
}

func.func @mlp(%x: !x {tpsp.name = "x"}, %gain: !gain {tpsp.param = "gain"},
               %up: !up {tpsp.param = "up"}, %down: !down {tpsp.param = "down"},
               %up2: !up {tpsp.param = "up2"}, %down2: !down {tpsp.param = "down2"}) -> !x {
  %y = func.call @half(%x, %gain, %up, %down) : (!x, !gain, !up, !down) -> !x
  %z = func.call @half(%y, %gain, %up2, %down2) : (!x, !gain, !up, !down) -> !x
  return %z : !x
}
