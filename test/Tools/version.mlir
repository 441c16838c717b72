// Every tool says its version, and help speaks only of flags that the tool has.
// REQUIRES: tpsp-run
// RUN: tpsp-run --version | FileCheck %s -DTOOL=tpsp-run
// RUN: tpsp-train --version | FileCheck %s -DTOOL=tpsp-train
// RUN: tpsp-plan --version | FileCheck %s -DTOOL=tpsp-plan
// RUN: tpsp-import --version | FileCheck %s -DTOOL=tpsp-import
// RUN: tpsp-opt --version | FileCheck %s -DTOOL=tpsp-opt
// RUN: tpsp-lsp-server --version | FileCheck %s -DTOOL=tpsp-lsp-server
// CHECK: {{^ *}}[[TOOL]] {{[0-9]+\.[0-9]+\.[0-9]+$}}
// RUN: tpsp-plan --help | FileCheck %s --check-prefix=HELP --implicit-check-not='--grad'
// HELP: --optimizer
