// Plans for a system that has to express them: --for.
// REQUIRES: tpsp-run
// DEFINE: %{plan} = tpsp-plan %examples/llama-tiny.mlir --forget-placements --hardware h100-sxm --devices 4 --overlap off --optimizer adamw --max-axes 1 --finalists 1

// The table has only plans that the system can express, and says so.
// RUN: %{plan} --for megatron --json > %t.megatron.json
// RUN: python3 -c "import json, sys; p = json.load(open(sys.argv[1])); assert p['search']['space']['target'] == 'Megatron-LM'; assert p['plans']; kinds = [(any(a['stores_parameters'] for a in q['mesh']), any(a['role'] == 'stage' for a in q['mesh'])) for q in p['plans']]; assert kinds.count((True, True)) == 0, kinds" %t.megatron.json
// RUN: %{plan} --for megatron --rows 3 | FileCheck %s --check-prefix=TABLE
// TABLE: plan {{.*}} memory {{ *}}megatron allocates{{ *}}reserves{{ *}}why not first
// TABLE: {{^}} 1 {{.*}}iB{{ .*}}iB{{ .*}}iB
// TABLE: no plan with {{.*}} that Megatron-LM can express is faster
// TABLE: the space: {{.*}}; what Megatron-LM can express

// The export of such a search cannot refuse. It has all flags, and the memory.
// RUN: tpsp-plan %examples/llama-tiny.mlir --forget-placements --hardware h100-sxm --devices 4 --optimizer adamw --max-axes 1 --seconds 20 --for megatron --export megatron --pin b@dp | FileCheck %s --check-prefix=FLAGS
// FLAGS: # Plan 1, {{.*}} a step and {{.*}} a rank, by the profile megatron.
// FLAGS-NEXT: # By the profile megatron a rank allocates {{.*}}iB, and reserves at least {{.*}}iB.
// FLAGS: # For Megatron-LM core
// FLAGS: PLAN_ARGS=(
// FLAGS-DAG: --tensor-model-parallel-size
// FLAGS-DAG: --micro-batch-size
// FLAGS-DAG: --global-batch-size 16
// FLAGS-DAG: --optimizer adam
// FLAGS-DAG: --clip-grad 0
// FLAGS-DAG: --overlap-grad-reduce
// FLAGS-DAG: --ddp-bucket-size 6553600
// RUN: %{plan} --for torchtitan --export torchtitan > %t.torchtitan
// RUN: %{plan} --for torchtitan-0.2 --export torchtitan-0.2 > %t.torchtitan-0.2
// RUN: %{plan} --for hf --export hf > %t.hf
// RUN: %{plan} --for torch --export torch > %t.torch
// RUN: python3 -c "import ast, sys; ast.parse(open(sys.argv[1]).read()); ast.parse(open(sys.argv[2]).read())" %t.torchtitan %t.torch
// RUN: python3 -c "import json, sys; assert json.load(open(sys.argv[1]))" %t.hf

// Without --for the best plan of the table that the system has is exported. The
// head says which it is, and what it costs.
// RUN: %{plan} --memory 190MiB --export torchtitan-0.2 | FileCheck %s --check-prefix=LATER
// LATER: # Plan {{[2-9]|[1-9][0-9]}}, {{.*}} a step
// LATER-NEXT: # Plan 1, {{.*}}, takes {{.*}}, {{.*}} % less. torchtitan
// JSON has no comments.
// RUN: %{plan} --export hf 2>&1 >/dev/null | FileCheck %s --check-prefix=NOTES
// NOTES: tpsp-plan: Plan {{[0-9]+}}, TP 4
// NOTES: tpsp-plan: transformers runs eager kernels

// What nothing can express is refused with a reason.
// RUN: not %{plan} --for hf --pin s@cp=4 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: tpsp-plan: transformers can express no plan on 4 devices; {{.*}}, for instance: transformers has no word for axis @cp, which divides
// RUN: not %{plan} --for hf --rematerialize selective 2>&1 | FileCheck %s --check-prefix=SETTINGS
// SETTINGS: tpsp-plan: transformers checkpoints whole layers only; give --rematerialize none or --rematerialize full
// RUN: not %{plan} --for megatron --memory 1MiB 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: no plan that Megatron-LM can express fits into 1.0 MiB on 4 devices; {{.*}}iB
// RUN: %S/Inputs/exits 2 %{plan} --for megatron --export hf 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: --export and --for name two systems; give one of them
// RUN: %S/Inputs/exits 2 %{plan} --for xla 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: tpsp-plan: --for: {{.*}}xla

// The schedule is refused, and not the stages.
// RUN: not %{plan} --for megatron --stages 4 --stage-schedule gpipe 2>&1 | FileCheck %s --check-prefix=GPIPE
// GPIPE: tpsp-plan: Megatron-LM schedules stages by 1F1B alone; plan with --stage-schedule 1f1b

// Profiles.
// RUN: not %{plan} --profile other 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: tpsp-plan: --profile: 'other' is no built-in profile (deepspeed, megatron, nanotron, torch, torchtitan) and cannot be read as a file
// RUN: echo '{"name": "mine", "version": "1", "facts": {"parameter": {"value": 2, "source": "me"}}}' > %t.profile.json
// RUN: not %{plan} --profile %t.profile.json 2>&1 | FileCheck %s --check-prefix=FACT
// FACT: --profile: profile '{{.*}}profile.json': facts.parameter_bytes: is missing; 'facts.parameter' is not known
// RUN: echo '{"name": "mine", "version": "1", "facts": {"parameter_bytes": {"value": 2}}}' > %t.profile.json
// RUN: not %{plan} --profile %t.profile.json 2>&1 | FileCheck %s --check-prefix=SOURCE
// SOURCE: facts.parameter_bytes.source: is missing

// This model has 4 heads of keys. Megatron-LM divides them among 8 tensor
// ranks, and torchtitan, transformers and torch do not.
// DEFINE: %{heads} = tpsp-plan %examples/llama-tiny.mlir --forget-placements --hardware h100-sxm --devices 8 --overlap off --optimizer adamw --max-axes 1 --finalists 1 --rows 60 --json
// RUN: %{heads} --for megatron > %t.8.megatron
// RUN: %{heads} --for torchtitan > %t.8.torchtitan
// RUN: %{heads} --for torch > %t.8.torch
// RUN: python3 -c "import json, sys; has = [any('TP' in p['name'] and '8' in p['name'] for p in json.load(open(f))['plans']) for f in sys.argv[1:]]; assert has == [True, False, False], has" %t.8.megatron %t.8.torchtitan %t.8.torch
