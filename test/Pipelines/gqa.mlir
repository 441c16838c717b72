// TP's own, as in tp.mlir: every rank has key/value heads of its own, and the
// activations that are reduced have no heads. 2 A (T-1)/T with A = 8*64*128*4.
// RUN: tpsp-opt %examples/gqa.mlir %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
//
// The same at every size, except bytes.
// RUN: tpsp-opt %examples/gqa.mlir %to_ledger | %ledger_counts > %t.counts
// RUN: sed 's/b = 8, s = 64/b = 1, s = 128/' %examples/gqa.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 128/' %examples/gqa.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 1, s = 32768/' %examples/gqa.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 32768/' %examples/gqa.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -

// ROW: 4 backward all_reduce tp () 393216
// ROW: 4 forward all_reduce tp () 393216
