// scripts/pages/planner-targets searches again for each system, judges the plan by
// tpsp's own step, exports it and has the export checked: by tools that print what
// this test says.
// RUN: rm -rf %t && split-file %s %t && mkdir %t/tools && mv %t/tpsp-plan %t/tpsp-import %t/tools && touch %t/tools/tpsp-run && chmod +x %t/tools/*
// DEFINE: %{make} = env -u TPSP_TEST_PYTHON %docs/../scripts/make-pages --slow --tools %t/tools
// RUN: %{make} %t/page.md
// RUN: diff %t/page.md %t/made.md

// The checks of exports that need no package, and what is skipped.
// RUN: sed -i 's/planner-targets -->/planner-targets --checks -->/' %t/page.md
// RUN: %{make} %t/page.md
// RUN: FileCheck %s --check-prefix=CHECKS < %t/page.md
// CHECKS: megatron: FSDP 8 (2 micro-batches), +10 %, 2.0 GiB: flags in the table of Megatron-LM's: accepted, 1 checked
// CHECKS-NEXT: megatron: FSDP 8 (2 micro-batches), +10 %, 2.0 GiB: configurations of megatron-core: {{accepted|skipped}}
// CHECKS-NEXT: torchtitan: TP 8, as plan 1, 3.0 GiB: fields of torchtitan's configuration: {{accepted|skipped}}
// CHECKS: hf: no plan: no export
// CHECKS-NEXT: torch: nothing fits: TP 8 needs 6.0 GiB, 2.0 GiB too many: no export

// A text that a system refuses, and one of another plan, are errors.
// RUN: sed 's/--micro-batch-size/--micro-batch-sizes/' %t/tools/tpsp-plan > %t/other && cp %t/other %t/tools/tpsp-plan
// RUN: not %{make} --check %t/page.md | FileCheck %s --check-prefix=REFUSED
// REFUSED: megatron refuses FSDP 8 (2 micro-batches): {{.*}}
// REFUSED: --micro-batch-sizes is not in megatron-flags.json
// RUN: sed 's/# Plan 1, FSDP/# Plan 1, DP/' %t/tools/tpsp-plan > %t/other && cp %t/other %t/tools/tpsp-plan
// RUN: not %{make} --check %t/page.md | FileCheck %s --check-prefix=OTHER
// OTHER: the best plan for megatron is FSDP 8; exported is DP 8 (2 micro-batches)

//--- page.md
alias plan='tpsp-plan --hardware h'
tpsp-import llama-3.1-8b --layers 4 -o m.mlir

<!-- made slowly: planner-figures -->
| row | `plan m.mlir --devices 8 --memory 4GiB` | TP 8, 10.0 ms |

<!-- made slowly: planner-targets -->
| command | plan 1 |
//--- made.md
alias plan='tpsp-plan --hardware h'
tpsp-import llama-3.1-8b --layers 4 -o m.mlir

<!-- made slowly: planner-figures -->
| row | `plan m.mlir --devices 8 --memory 4GiB` | TP 8, 10.0 ms |

<!-- made slowly: planner-targets -->
| command | plan 1 | megatron | torchtitan | torchtitan-0.2 | hf | torch |
| --- | --- | --- | --- | --- | --- | --- |
| `plan m.mlir --devices 8 --memory 4GiB` | TP 8, 10.0 ms | FSDP 8 (2 micro-batches), +10 %, 2.0 GiB | TP 8, as plan 1, 3.0 GiB | FSDP 8 (2 micro-batches), +10 %, 2.5 GiB | no plan | nothing fits: TP 8 needs 6.0 GiB, 2.0 GiB too many |
//--- tpsp-import
#!/bin/sh
//--- tpsp-plan
#!/usr/bin/env python3
import json
import sys

GIB = 2**30
words = sys.argv[1:]
target = words[words.index("--for") + 1] if "--for" in words else ""


def plan(name, seconds, total, micro_batches, profiled=0):
    return {"rank": 1, "name": name, "subscripts": f"all: {name}", "legal": True, "bound": False, "seconds": seconds,
            "micro_batches": micro_batches, "rematerialize": "none", "stage_chunks": 1, "mesh": [{"size": 8, "role": "data"}],
            "memory": {"total": total * GIB, "profiled": profiled * GIB}}


def show(*plans):
    print(json.dumps({"devices": 8, "tokens": 8192, "memory_limit": 4 * GIB, "plans": plans}))


tensor, stored = plan("TP 8", 0.01, 3, 1), plan("FSDP 8", 0.02, 2.5, 2, profiled=2 if target == "megatron" else 0)
if target == "hf":
    sys.exit("tpsp-plan: transformers can express no plan on 8 devices; TP 8, for instance: why")
if target == "torch":
    show({**plan("TP 8", 0.01, 6, 1), "rank": 0}, {**plan("TP 2", 0.01, 5, 1), "rank": 0, "bound": True})
    sys.exit("tpsp-plan: no plan that PyTorch can express fits into 4.0 GiB on 8 devices; the nearest needs 6.0 GiB")
if "--export" in words and target == "torchtitan":
    print("# Plan 1, TP 8: 10.0 ms a step and 3.0 GiB a rank")
elif "--export" in words:
    print("# Plan 1, FSDP 8 (2 micro-batches): 20.0 ms a step and 2.5 GiB a rank")
    print("PLAN_ARGS=(\n  --micro-batch-size 4\n)" if target == "megatron" else "")
elif "--compare" in words:
    assert words[words.index("--memory") + 1] == "10TiB" and words.count("--memory") == 1, words
    assert words[words.index("--micro-batches") + 1] == "2", words
    show(plan("FSDP 8", 0.011, 2.5, 2), {**plan("TP 8", 0.012, 3, 2), "rank": 2})
    print("more text")
else:
    show(tensor if target == "torchtitan" else stored if target else tensor)
