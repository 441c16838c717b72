// TP+SP's rows over tp, for half of the batch (A/2 1/2 with A = 8*64*128*4), and
// FSDP's over fsdp, for half of every matrix M (M/2 1/2). b1 is on tp and whole over
// fsdp: one all-reduce over fsdp (two layers of 256 parameters, 2048 bytes, times
// 2 1/2). Gains and b2 are sums over s, which tp divides, and over b, which fsdp
// divides: one all-reduce over both (3072 bytes times 2 3/4).
// RUN: tpsp-opt %examples/tp-sp-fsdp.mlir %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
//
// The same at every size, except bytes.
// RUN: tpsp-opt %examples/tp-sp-fsdp.mlir %to_ledger | %ledger_counts > %t.counts
// RUN: sed 's/b = 8, s = 64/b = 2, s = 128/' %examples/tp-sp-fsdp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 128/' %examples/tp-sp-fsdp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 2, s = 32768/' %examples/tp-sp-fsdp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 32768/' %examples/tp-sp-fsdp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -

// ROW: 4 backward all_gather fsdp (e) 65536
// ROW: 8 backward all_gather fsdp (h) 16384
// ROW: 8 backward all_gather tp (s) 65536
// ROW: 1 backward all_reduce fsdp () 2048
// ROW: 1 backward all_reduce fsdp,tp () 4608
// ROW: 4 backward reduce_scatter fsdp (e) 65536
// ROW: 8 backward reduce_scatter fsdp (h) 16384
// ROW: 4 backward reduce_scatter tp (s) 65536
// ROW: 4 forward all_gather fsdp (e) 65536
// ROW: 8 forward all_gather fsdp (h) 16384
// ROW: 4 forward all_gather tp (s) 65536
// ROW: 4 forward reduce_scatter tp (s) 65536
