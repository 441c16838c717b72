// Inputs have gradients by default, and the report says their cost.
// --input-gradients off leaves them out, as tpsp.frozen does.
// REQUIRES: tpsp-run
// RUN: tpsp-run %examples/mlp-sp.mlir --grad --report %t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t.json
// CHECK: gradients 576.0 KiB
// CHECK-NEXT: {{^}}    of inputs      64.0 KiB  (not made with --input-gradients off, or where tpsp.frozen){{$}}
// CHECK-NEXT: inputs
// CHECK-NEXT: {{^}}    cotangents     64.0 KiB  (of results; of the inputs){{$}}
// REPORT: "gradients": 589824,
// REPORT-NEXT: "input_gradients": 65536,

// RUN: tpsp-run %examples/mlp-sp.mlir --grad --verify --input-gradients off --report %t.off.json | FileCheck %s --check-prefix=OFF --implicit-check-not='g[x]'
// RUN: FileCheck %s --check-prefix=NONE < %t.off.json
// OFF: gradients 512.0 KiB
// OFF-NEXT: inputs
// OFF: all within tolerance
// NONE: "input_gradients": 0,

// RUN: sed 's/(%x: [^]]*]/& {tpsp.frozen}/' %examples/mlp-sp.mlir > %t.mlir
// RUN: tpsp-run %t.mlir --grad --quiet --save-all %t.frozen.st
// RUN: tpsp-run %examples/mlp-sp.mlir --grad --quiet --input-gradients off --save-all %t.off.st
// RUN: cmp %t.frozen.st %t.off.st

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --input-gradients off 2>&1 | FileCheck %s --check-prefix=FORWARD
// FORWARD: {{^}}tpsp-run: --input-gradients off leaves gradients out, and there are none without --grad{{$}}
// RUN: tpsp-run %examples/mlp-sp.mlir --grad --input-gradients off --quiet --emit %t.so
// RUN: %S/Inputs/exits 2 tpsp-run %t.so --input-gradients off 2>&1 | FileCheck %s --check-prefix=PLAN
// PLAN: --input-gradients is about compiling; give it to tpsp-run MODEL.mlir --emit
