// Every tool says its version, and help speaks only of flags that the tool has.
// REQUIRES: tpsp-run
// RUN: tpsp-run --version | FileCheck %s
// RUN: tpsp-train --version | FileCheck %s
// RUN: tpsp-plan --version | FileCheck %s
// RUN: tpsp-import --version | FileCheck %s
// RUN: tpsp-check --version | FileCheck %s
// RUN: tpsp-opt --version | FileCheck %s
// RUN: tpsp-lsp-server --version | FileCheck %s
// CHECK: {{^ *tpsp-[a-z-]+ [0-9]+\.[0-9]+\.[0-9]+$}}
// RUN: tpsp-plan --help | FileCheck %s --check-prefix=HELP --implicit-check-not='--grad'
// HELP: --optimizer
