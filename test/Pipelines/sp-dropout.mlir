// Dropout needs no collective: the ledger is that of the block without it, and of
// the one that keeps its masks.
// RUN: tpsp-opt %examples/sp-dropout.mlir %to_ledger | %ledger_rows > %t.dropout
// RUN: tpsp-opt %examples/gpt-block-sp.mlir %to_ledger | %ledger_rows > %t.plain
// RUN: diff %t.dropout %t.plain
// RUN: tpsp-opt %examples/sp-dropout.mlir --tpsp-collective-pipeline="grad=true keep-masks=true" | FileCheck %s

// CHECK-LABEL: func.func @block_grad(
// CHECK-COUNT-3: = tpsp.dropout_mask
// CHECK-NOT: = tpsp.dropout_mask
