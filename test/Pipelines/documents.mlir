// Every command of docs/Documents.md prints what the page shows.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: python3 %S/Inputs/page-commands.py %examples/../docs/Documents.md %examples | FileCheck %s
//
// A command that is not found would be none that is wrong.
// CHECK: {{^35 commands, 0 wrong$}}
