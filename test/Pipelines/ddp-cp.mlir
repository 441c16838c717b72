// Keys and values over cp, for half of the batch (A/2 1/2 with A = 8*64*8*16*4). All
// gradients of weights in one all-reduce over the 4 ranks of dp and cp: the
// reference count's fused one, P = 1580032 bytes times 2 3/4. One per axis would
// send 2 P 1/2 twice.
// RUN: tpsp-opt %examples/ddp-cp.mlir %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
//
// The same at every size, except bytes.
// RUN: tpsp-opt %examples/ddp-cp.mlir %to_ledger | %ledger_counts > %t.counts
// RUN: sed 's/b = 8, s = 64/b = 2, s = 128/' %examples/ddp-cp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 128/' %examples/ddp-cp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 2, s = 32768/' %examples/ddp-cp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 32768/' %examples/ddp-cp.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -

// ROW: 4 backward all_gather cp (t) 65536
// ROW: 1 backward all_reduce dp,cp () 2370048
// ROW: 4 backward reduce_scatter cp (t) 65536
// ROW: 4 forward all_gather cp (t) 65536
