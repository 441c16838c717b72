// For each matrix M bytes an all-gather forward and a reduce-scatter of its
// gradient, each M 3/4: M = 65536 for the four of attention (sharded on h),
// M = 262144 for the two of the MLP (on e). Gains and biases are not sharded:
// 7168 bytes in one all-reduce, times 2 3/4. In all DDP's 2 (M + R) 3/4.
// RUN: tpsp-opt %examples/zero2.mlir %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
//
// The same at every size, except bytes.
// RUN: tpsp-opt %examples/zero2.mlir %to_ledger | %ledger_counts > %t.counts
// RUN: sed 's/b = 8, s = 64/b = 4, s = 128/' %examples/zero2.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 128/' %examples/zero2.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 4, s = 32768/' %examples/zero2.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 32768/' %examples/zero2.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
//
// FSDP sends the same if it keeps gathered tensors.
// RUN: sed 's/fsdp/dp/g' %examples/fsdp.mlir | tpsp-opt --tpsp-collective-pipeline="grad=true keep-gathered" --tpsp-drop-primals --tpsp-partition --tpsp-decompose-late --convert-tpsp-to-plan | %ledger_rows | diff %t.rows -

// ROW: 1 backward all_reduce dp () 10752
// ROW: 4 backward reduce_scatter dp (e) 196608
// ROW: 8 backward reduce_scatter dp (h) 49152
// ROW: 4 forward all_gather dp (e) 196608
// ROW: 8 forward all_gather dp (h) 49152
