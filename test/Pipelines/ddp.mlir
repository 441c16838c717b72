// Nothing forward; backward one all-reduce of all gradients over dp. A layer has
// 4 * 8*16*128 + 2 * 512*128 + 512 + 3 * 128 = 197504 parameters, so two have
// P = 1580032 bytes, and a ring all-reduce over 4 ranks sends 2 P 3/4 = 2370048.
// RUN: tpsp-opt %examples/ddp.mlir %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
//
// The same at every size, except bytes.
// RUN: tpsp-opt %examples/ddp.mlir %to_ledger | %ledger_counts > %t.counts
// RUN: sed 's/b = 8, s = 64/b = 4, s = 128/' %examples/ddp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 128/' %examples/ddp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 4, s = 32768/' %examples/ddp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 32768/' %examples/ddp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -

// ROW: 1 backward all_reduce dp () 2370048
