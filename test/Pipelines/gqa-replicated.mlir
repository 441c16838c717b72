// TP's own all-reduces, of A = 8*64*128*4 bytes over the 4 ranks of kv and rep. The
// weights of keys and values are replicated over rep: their gradients are summed
// over rep, all four in one all-reduce of 2 * 2 * 16*128 * 4 bytes times 2 1/2. The
// gradients of keys and values themselves stay partial, like their uses.
// RUN: tpsp-opt %examples/gqa-replicated.mlir %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
//
// The same at every size, except bytes.
// RUN: tpsp-opt %examples/gqa-replicated.mlir %to_ledger | %ledger_counts > %t.counts
// RUN: sed 's/b = 8, s = 64/b = 1, s = 128/' %examples/gqa-replicated.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 128/' %examples/gqa-replicated.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 1, s = 32768/' %examples/gqa-replicated.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 32768/' %examples/gqa-replicated.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -

// ROW: 4 backward all_reduce kv,rep () 393216
// ROW: 1 backward all_reduce rep () 32768
// ROW: 4 forward all_reduce kv,rep () 393216
