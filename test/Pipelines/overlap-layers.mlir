// A model of many layers that are alike is scheduled as well as one of few, though cuts are found for a few
// of them only. (Tools/growth.mlir counts the instructions.) Llama-3.1-405B on 64 GPUs, fully rematerialised.
// REQUIRES: tpsp-run
// RUN: mkdir -p %t
// DEFINE: %{layers} = unset
// DEFINE: %{import} = tpsp-import %S/../Import/Inputs/published/llama-3.1-405b.json --sequence 8192 --batch 8 --dtype bf16 --place fsdp-tp-sp --mesh fsdp=8,tp=8 --layers %{layers} -o %t/%{layers}.mlir
// DEFINE: %{step} = bash -c "tpsp-run %t/%{layers}.mlir --grad --optimizer adamw --rematerialize full --simulate --hardware h100-sxm-cluster --overlap on --report %t/%{layers}.json --quiet || test $? = 3"

// REDEFINE: %{layers} = 16
// RUN: %{import}
// RUN: %{step}
// REDEFINE: %{layers} = 64
// RUN: %{import}
// RUN: %{step}
// RUN: %python -c "import json, sys; few, many = (json.load(open(f))['time']['step'] for f in sys.argv[1:]); print(few, many); assert few < 1.03 and many < 3.76" %t/16.json %t/64.json

// Only a few layers are searched, forward, backward and update alike. Without so many layers all are.
// RUN: tpsp-opt %t/16.mlir --tpsp-pipeline="grad optimizer=adamw rematerialize=full overlap=on hardware=h100-sxm-cluster" --remarks-filter=tpsp-overlap -o /dev/null 2>&1 | FileCheck %s --check-prefix=FEW
// FEW: layers are alike: cuts were searched for {{[0-9]?[0-9][0-9]}} of {{1[0-9][0-9][0-9]}} commands
// RUN: tpsp-opt %examples/llama-tiny.mlir --tpsp-pipeline="grad overlap=on hardware=h100-sxm" --remarks-filter=tpsp-overlap -o /dev/null 2>&1 | FileCheck %s --check-prefix=ALL --allow-empty
// ALL-NOT: layers are alike
