// Dropout needs no collective: the ledger is that of the layers without it, and
// that of the layers that keep their masks. Each layer's is that of
// gpt-block-sp.mlir, but one all-reduce serves both.
// RUN: tpsp-opt %examples/sp-dropout.mlir %to_ledger | %ledger_rows > %t.dropout
// RUN: %expected_rows %s | diff - %t.dropout
// RUN: sed -e 's/dropout \(%[a-z]*\) {[^}]*}/scale \1 {factor = 1}/' -e 's/, dropout = 0.1, seed = [0-9]*//' %examples/sp-dropout.mlir > %t.plain.mlir
// RUN: not grep 'dropout = \| dropout %' %t.plain.mlir
// RUN: tpsp-opt %t.plain.mlir %to_ledger | %ledger_rows | diff %t.dropout -
//
// No two of the dropouts draw the same numbers: a second call adds 2^32.
// RUN: tpsp-opt %examples/sp-dropout.mlir --tpsp-collective-pipeline="grad=true keep-masks=true" | FileCheck %s

// ROW: 8 backward all_gather tp (s) 196608
// ROW: 1 backward all_reduce tp () 18432
// ROW: 4 backward reduce_scatter tp (s) 196608
// ROW: 4 forward all_gather tp (s) 196608
// ROW: 4 forward reduce_scatter tp (s) 196608

// CHECK-LABEL: func.func @model_grad(
// CHECK-DAG: = tpsp.dropout_mask {{.*}}seed = 1
// CHECK-DAG: = tpsp.dropout_mask {{.*}}seed = 2
// CHECK-DAG: = tpsp.dropout_mask {{.*}}seed = 3
// CHECK-DAG: = tpsp.dropout_mask {{.*}}seed = 4294967297 : i64
// CHECK-DAG: = tpsp.dropout_mask {{.*}}seed = 4294967298 : i64
// CHECK-DAG: = tpsp.dropout_mask {{.*}}seed = 4294967299 : i64
// CHECK-NOT: = tpsp.dropout_mask
