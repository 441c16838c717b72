// Text that nests too deep for the parser's stack is refused before parsing, so
// that no depth crashes.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t

// RUN: python3 %S/Inputs/deep.py types 250 > %t/m.mlir && tpsp-opt %t/m.mlir -o /dev/null
// RUN: python3 %S/Inputs/deep.py attributes 250 > %t/m.mlir && tpsp-opt %t/m.mlir --allow-unregistered-dialect -o /dev/null
// RUN: python3 %S/Inputs/deep.py regions 250 > %t/m.mlir && tpsp-opt %t/m.mlir -o /dev/null
// RUN: python3 %S/Inputs/deep.py aliases 250 > %t/m.mlir && tpsp-opt %t/m.mlir -o /dev/null
// RUN: python3 %S/Inputs/deep.py flat 1000 > %t/m.mlir && tpsp-opt %t/m.mlir --allow-unregistered-dialect -o /dev/null

// RUN: python3 %S/Inputs/deep.py types 100000 > %t/m.mlir && %S/Inputs/exits 1 tpsp-opt %t/m.mlir 2>&1 | FileCheck %s --check-prefixes=DEEP,TYPES
// TYPES: m.mlir:1:1557: error:
// RUN: python3 %S/Inputs/deep.py attributes 100000 > %t/m.mlir && %S/Inputs/exits 1 tpsp-opt %t/m.mlir 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: python3 %S/Inputs/deep.py regions 100000 > %t/m.mlir && %S/Inputs/exits 1 tpsp-opt %t/m.mlir 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: python3 %S/Inputs/deep.py locations 100000 > %t/m.mlir && %S/Inputs/exits 1 tpsp-opt %t/m.mlir 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: python3 %S/Inputs/deep.py negated 100000 > %t/m.mlir && %S/Inputs/exits 1 tpsp-opt %t/m.mlir 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: python3 %S/Inputs/deep.py sum 100000 > %t/m.mlir && %S/Inputs/exits 1 tpsp-opt %t/m.mlir 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: python3 %S/Inputs/deep.py aliases 100000 > %t/m.mlir && %S/Inputs/exits 1 tpsp-opt %t/m.mlir 2>&1 | FileCheck %s --check-prefixes=DEEP,ALIASES
// ALIASES: m.mlir:258:15: error:
// RUN: %S/Inputs/exits 1 tpsp-run %t/m.mlir 2>&1 | FileCheck %s --check-prefix=TOOL
// RUN: %S/Inputs/exits 1 tpsp-opt - < %t/m.mlir 2>&1 | FileCheck %s --check-prefix=STDIN
// DEEP: brackets, operators and aliases nest more than 256 deep here; close an open bracket, or nest less
// TOOL: tpsp-run: {{.*}}m.mlir:258:15: error: brackets, operators and aliases nest more than 256 deep
// STDIN: tpsp-opt: <stdin>:258:15: error: brackets

// Calls do not nest deeper, either.
// RUN: python3 %S/Inputs/deep.py calls 250 > %t/m.mlir && tpsp-opt %t/m.mlir --tpsp-explain
// RUN: python3 %S/Inputs/deep.py calls 20000 > %t/m.mlir && %S/Inputs/exits 1 tpsp-opt %t/m.mlir --tpsp-explain 2>&1 | FileCheck %s --check-prefix=CALLS
// CALLS: error: 'func.call' op has more than 256 calls within each other; put what functions that are called once do in their callers

// The text after a marker is a separate file: depths do not add up.
// RUN: python3 %S/Inputs/deep.py parts 100 > %t/parts.mlir
// RUN: not tpsp-opt %t/parts.mlir --split-input-file 2>&1 | FileCheck %s --check-prefix=PARTS
// RUN: %S/Inputs/exits 1 tpsp-opt %t/parts.mlir 2>&1 | FileCheck %s --check-prefix=DEEP
// PARTS-NOT: nest more than
