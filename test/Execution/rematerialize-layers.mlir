// Full rematerialisation of some layers: the same results, and memory and work
// between those of none and of all.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t
// RUN: sed 's/repeat 4/repeat 6/' %examples/pp.mlir > %t/six.mlir
// DEFINE: %{run} = tpsp-run %t/six.mlir --grad --rematerialize full
// DEFINE: %{one} = tpsp-run %t/six.mlir --grad --mesh pp=1,tp=1 --rematerialize

// RUN: %{one} full --verify --quiet --rematerialize-layers 2
// RUN: %{one} full --verify --quiet --rematerialize-layers 5 --micro-batches 4 --optimizer adamw
// RUN: %{run} --verify --quiet --rematerialize-layers 1 --micro-batches 4 --overlap on
// RUN: %{run} --verify --quiet --rematerialize-layers 1 --micro-batches 4 --stage-chunks 3 --stage-schedule zero-bubble

// Each layer that is redone saves as much less.
// RUN: %{one} none --report %t/0.json --quiet
// RUN: %{one} full --rematerialize-layers 2 --report %t/2.json --quiet
// RUN: %{one} full --rematerialize-layers 4 --report %t/4.json --quiet
// RUN: %{one} full --rematerialize-layers 6 --report %t/6.json --quiet
// RUN: %{one} full --report %t/all.json --quiet
// RUN: python3 -c "import json; r = [json.load(open('%t/' + n + '.json')) for n in ('0', '2', '4', '6', 'all')]; saved = [x['memory']['saved'] for x in r]; assert saved[0] > saved[1] > saved[2] > saved[3] == saved[4] and saved[1] - saved[2] == saved[2] - saved[3], saved"

// Of each chunk: two chunks of three layers redo two each, with eight einsums a layer.
// RUN: tpsp-opt %t/six.mlir --tpsp-collective-pipeline="grad rematerialize=full rematerialize-layers=2" | grep -c 'tpsp.einsum.*backward, recomputed' | FileCheck %s --check-prefix=TWO
// TWO: {{^}}32{{$}}

// The planner takes a fixed number of layers, but not with stages.
// DEFINE: %{plan} = tpsp-plan %t/six.mlir --forget-placements --devices 2 --rematerialize full --rematerialize-layers 2
// RUN: %{plan} --stages 1 --overlap off --max-axes 1 | FileCheck %s --check-prefix=PLAN
// PLAN: rematerialise full in 2 layers
// RUN: not %{plan} --stages 2 2>&1 | FileCheck %s --check-prefix=STAGES
// STAGES: --rematerialize-layers is not planned with stages; leave it out, or give --stages 1

// RUN: not tpsp-run %t/six.mlir --grad --rematerialize-layers 2 2>&1 | FileCheck %s --check-prefix=MODE
// MODE: --rematerialize-layers counts the layers of --rematerialize full
