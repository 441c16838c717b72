// A layer has, as in the reference count, two all-gathers and two reduce-scatters
// forward, the same backward, and two all-gathers more for inputs that are saved
// as shards, each A (T-1)/T = 196608 with A = 8*64*128*4; all layers together one
// all-reduce of what is replicated: two gains and a bias of 128 each in two layers,
// 3072 bytes times 2 3/4. Without the second gathers these are the bytes of tp.
// RUN: tpsp-opt %examples/tp-sp.mlir %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
//
// The same at every size, except bytes.
// RUN: tpsp-opt %examples/tp-sp.mlir %to_ledger | %ledger_counts > %t.counts
// RUN: sed 's/b = 8, s = 64/b = 1, s = 128/' %examples/tp-sp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 128/' %examples/tp-sp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 1, s = 32768/' %examples/tp-sp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 32768/' %examples/tp-sp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -

// ROW: 8 backward all_gather tp (s) 196608
// ROW: 1 backward all_reduce tp () 4608
// ROW: 4 backward reduce_scatter tp (s) 196608
// ROW: 4 forward all_gather tp (s) 196608
// ROW: 4 forward reduce_scatter tp (s) 196608
