// TP's all-reduces over the 2 ranks of tp, of the half of the batch that a rank of
// dp has: 2 A/2 1/2 with A = 8*64*128*4. DDP's one all-reduce over the 2 ranks of
// dp, of half of every matrix and of b1, and of all of gains and b2: two layers of
// 98944 parameters, 791552 bytes, times 2 1/2. Nothing is sent over both axes.
// RUN: tpsp-opt %examples/tp-dp.mlir %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
//
// The same at every size, except bytes.
// RUN: tpsp-opt %examples/tp-dp.mlir %to_ledger | %ledger_counts > %t.counts
// RUN: sed 's/b = 8, s = 64/b = 2, s = 128/' %examples/tp-dp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 128/' %examples/tp-dp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 2, s = 32768/' %examples/tp-dp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 32768/' %examples/tp-dp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -

// ROW: 1 backward all_reduce dp () 791552
// ROW: 4 backward all_reduce tp () 131072
// ROW: 4 forward all_reduce tp () 131072
