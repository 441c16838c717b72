// Pages of --html in a browser: each tests itself, as a person would use it.
// REQUIRES: tpsp-run, chromium
// RUN: rm -rf %t && mkdir %t

// RUN: tpsp-plan %examples/tp-sp.mlir --forget-placements --hardware h100-sxm --devices 4 --max-axes 1 --finalists 3 --html %t/plan.html > %t/plan.txt
// RUN: %chromium --user-data-dir=%t/profile --window-size=1600,1200 --dump-dom "file://%t/plan.html#selftest" > %t/plan.dom 2> %t/plan.log
// RUN: FileCheck %s --check-prefixes=DONE,PLAN < %t/plan.dom
// RUN: not grep CONSOLE %t/plan.log

// As narrow as a telephone, and with several ranks that differ.
// RUN: tpsp-run %examples/tp-sp.mlir --grad --quiet --html %t/run.html
// RUN: %chromium --user-data-dir=%t/profile --window-size=360,800 --dump-dom "file://%t/run.html#selftest" > %t/run.dom 2> %t/run.log
// RUN: FileCheck %s --check-prefixes=DONE < %t/run.dom
// RUN: not grep CONSOLE %t/run.log

// A search that compiled nothing.
// RUN: not tpsp-plan %S/html.mlir --hardware h100-sxm --devices 4 --max-axes 1 --overlap off --memory 9KiB --html %t/none.html
// RUN: %chromium --user-data-dir=%t/profile --window-size=800,800 --dump-dom "file://%t/none.html#selftest" > %t/none.dom 2> %t/none.log
// RUN: FileCheck %s --check-prefixes=NONE < %t/none.dom
// RUN: not grep CONSOLE %t/none.log

// With stages: unknown keys are shown unchanged.
// RUN: sed 's/<dp = 2 : data, tp = 1 : model>/<pp = 2 : stage, dp = 2 : data, tp = 1 : model>/' %examples/llama-tiny.mlir > %t/stages.mlir
// RUN: tpsp-run %t/stages.mlir --grad --simulate --hardware h100-sxm --micro-batches 4 --quiet --html %t/stages.html
// RUN: %chromium --user-data-dir=%t/profile --window-size=800,800 --dump-dom "file://%t/stages.html#selftest" > %t/stages.dom 2> %t/stages.log
// RUN: FileCheck %s --check-prefixes=STAGES < %t/stages.dom
// RUN: not grep CONSOLE %t/stages.log

// No table is cut at any width: of plans with stages and long names, and of
// collectives with all their columns.
// RUN: tpsp-plan %examples/llama-tiny.mlir --forget-placements --hardware h100-sxm --devices 4 --optimizer adamw --evaluations 60 --html %t/plans.html > %t/plans.txt
// RUN: tpsp-run %examples/llama-tiny.mlir --mesh dp=2,tp=2 --grad --simulate --hardware h100-sxm --overlap on --optimizer adamw --quiet --html %t/ledger.html
// DEFINE: %{page} = plans
// DEFINE: %{width} = 400
// DEFINE: %{open} = %chromium --user-data-dir=%t/profile --window-size=%{width},900 --dump-dom "file://%t/%{page}.html#selftest" > %t/wide.dom 2> %t/wide.log
// RUN: %{open}
// RUN: FileCheck %s --check-prefix=WIDTHS < %t/wide.dom
// REDEFINE: %{width} = 800
// RUN: %{open}
// RUN: FileCheck %s --check-prefix=WIDTHS < %t/wide.dom
// REDEFINE: %{width} = 1400
// RUN: %{open}
// RUN: FileCheck %s --check-prefix=WIDTHS < %t/wide.dom
// REDEFINE: %{page} = ledger
// RUN: %{open}
// RUN: FileCheck %s --check-prefix=WIDTHS < %t/wide.dom
// REDEFINE: %{width} = 800
// RUN: %{open}
// RUN: FileCheck %s --check-prefix=WIDTHS < %t/wide.dom
// REDEFINE: %{width} = 400
// RUN: %{open}
// RUN: FileCheck %s --check-prefix=WIDTHS < %t/wide.dom

// A check: numbers and a recording in one page.
// RUN: cd %t && tpsp-run %S/Inputs/checked-layer.mlir --grad --quiet --save-all right.safetensors
// RUN: cd %t && env PYTHONPATH=%S/Inputs python3 %S/Inputs/checked-layer.py
// RUN: cd %t && not tpsp-check %S/Inputs/checked-layer.mlir --numbers dump --trace trace_rank_0.json --html check.html
// RUN: %chromium --user-data-dir=%t/profile --window-size=360,800 --dump-dom "file://%t/check.html#selftest" > %t/check.dom 2> %t/check.log
// RUN: FileCheck %s --check-prefixes=CHECK-PAGE < %t/check.dom
// RUN: not grep CONSOLE %t/check.log

// PLAN-DAG: ok rows are by memory
// PLAN-DAG: ok the fastest that fits is first
// PLAN-DAG: ok an opened row has its reason in full
// PLAN-DAG: ok the chosen point is marked
// DONE-NOT: not ok
// DONE: ok {{[0-9]+}} commands in {{[0-9]+}} lanes
// DONE-NOT: not ok
// DONE: selftest passed {{[0-9]+}} checks
// NONE-NOT: not ok
// NONE: ok no step, no timeline
// NONE-NOT: not ok
// NONE: selftest passed {{[0-9]+}} checks
// STAGES-NOT: not ok
// STAGES: ok {{[0-9]+}} commands in {{[0-9]+}} lanes
// STAGES-NOT: not ok
// STAGES: selftest passed {{[0-9]+}} checks
// WIDTHS-NOT: not ok
// WIDTHS: ok no table is cut at {{.*}} ledger-table
// WIDTHS-NOT: not ok
// WIDTHS: selftest passed {{[0-9]+}} checks
// CHECK-PAGE-NOT: not ok
// CHECK-PAGE: ok the first line is the answer
// CHECK-PAGE-NOT: not ok
// CHECK-PAGE: lines of the model are marked
// CHECK-PAGE-NOT: not ok
// CHECK-PAGE: selftest passed {{[0-9]+}} checks
