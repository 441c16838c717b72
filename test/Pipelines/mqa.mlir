// TP's own all-reduces, of A = 8*64*128*4 bytes. Every rank has the one key/value
// head; its weights' gradients are summed over rep, all four in one all-reduce of
// 4 * 16*128 * 4 bytes times 2 3/4.
// RUN: tpsp-opt %examples/mqa.mlir %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
//
// The same at every size, except bytes.
// RUN: tpsp-opt %examples/mqa.mlir %to_ledger | %ledger_counts > %t.counts
// RUN: sed 's/b = 8, s = 64/b = 1, s = 128/' %examples/mqa.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 128/' %examples/mqa.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 1, s = 32768/' %examples/mqa.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 32768/' %examples/mqa.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -

// ROW: 4 backward all_reduce rep () 393216
// ROW: 1 backward all_reduce rep () 49152
// ROW: 4 forward all_reduce rep () 393216
