// A layer gathers its keys and its values, each A = 8*64*8*16*4 = 262144 bytes, so
// A 3/4, forward and again backward, and reduce-scatters their gradients. Every
// weight is whole on every rank: one all-reduce of all gradients, as in DDP.
// RUN: tpsp-opt %examples/cp-attention.mlir %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
//
// The same at every size, except bytes.
// RUN: tpsp-opt %examples/cp-attention.mlir %to_ledger | %ledger_counts > %t.counts
// RUN: sed 's/b = 8, s = 64/b = 1, s = 128/' %examples/cp-attention.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 128/' %examples/cp-attention.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 1, s = 32768/' %examples/cp-attention.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 32768/' %examples/cp-attention.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -

// ROW: 4 backward all_gather cp (t) 196608
// ROW: 1 backward all_reduce cp () 2370048
// ROW: 4 backward reduce_scatter cp (t) 196608
// ROW: 4 forward all_gather cp (t) 196608
