// For each matrix M bytes an all-gather forward, another backward, and a
// reduce-scatter of its gradient, each M 3/4: M = 65536 for the four of attention
// (sharded on h), M = 262144 for the two of the MLP (on e). Gains and biases are
// not sharded: 2 * (512 + 3 * 128) * 4 = 7168 bytes in one all-reduce, times 2 3/4.
// Without that, 3 M 3/4 for a matrix is half as much again as DDP's 2 M 3/4.
// RUN: tpsp-opt %examples/fsdp.mlir %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
//
// The same at every size, except bytes.
// RUN: tpsp-opt %examples/fsdp.mlir %to_ledger | %ledger_counts > %t.counts
// RUN: sed 's/b = 8, s = 64/b = 4, s = 128/' %examples/fsdp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 128/' %examples/fsdp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 4, s = 32768/' %examples/fsdp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 32768/' %examples/fsdp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -

// ROW: 4 backward all_gather fsdp (e) 196608
// ROW: 8 backward all_gather fsdp (h) 49152
// ROW: 1 backward all_reduce fsdp () 10752
// ROW: 4 backward reduce_scatter fsdp (e) 196608
// ROW: 8 backward reduce_scatter fsdp (h) 49152
// ROW: 4 forward all_gather fsdp (e) 196608
// ROW: 8 forward all_gather fsdp (h) 49152
