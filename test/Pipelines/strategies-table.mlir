// The tables of docs/strategies/README.md say what the examples' runs report.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: python3 %S/Inputs/strategies-table.py %examples/../docs/strategies/README.md %examples | FileCheck %s
//
// A table that is not found would be no table that is wrong.
// CHECK: {{^18 rows, 0 wrong$}}
