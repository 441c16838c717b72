// FSDP's rows over the 2 ranks of fsdp (M/2 for a matrix of M bytes), and one
// all-reduce over the 2 ranks of dp of all shards together: half of the matrices'
// 1572864 bytes, times 2 1/2. Gains and biases, which are whole everywhere, are
// reduced over dp and fsdp at once: 7168 bytes times 2 3/4.
// RUN: tpsp-opt %examples/hsdp.mlir %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
//
// The same at every size, except bytes.
// RUN: tpsp-opt %examples/hsdp.mlir %to_ledger | %ledger_counts > %t.counts
// RUN: sed 's/b = 8, s = 64/b = 4, s = 128/' %examples/hsdp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 128/' %examples/hsdp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 4, s = 32768/' %examples/hsdp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 32768/' %examples/hsdp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -

// ROW: 4 backward all_gather fsdp (e) 131072
// ROW: 8 backward all_gather fsdp (h) 32768
// ROW: 1 backward all_reduce dp () 786432
// ROW: 1 backward all_reduce dp,fsdp () 10752
// ROW: 4 backward reduce_scatter fsdp (e) 131072
// ROW: 8 backward reduce_scatter fsdp (h) 32768
// ROW: 4 forward all_gather fsdp (e) 131072
// ROW: 8 forward all_gather fsdp (h) 32768
