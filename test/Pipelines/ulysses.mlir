// Attention divides heads, everything else positions. A layer exchanges queries,
// keys, values and the result, each A = 8*64*8*16*4 / 4 = 65536 bytes on a rank,
// so A 3/4; backward their gradients, and the result once more, which the
// gradient of wo reads on positions. Weights are whole: one all-reduce, as in DDP.
// RUN: tpsp-opt %examples/ulysses.mlir %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
//
// The same at every size, except bytes.
// RUN: tpsp-opt %examples/ulysses.mlir %to_ledger | %ledger_counts > %t.counts
// RUN: sed 's/b = 8, s = 64/b = 1, s = 128/' %examples/ulysses.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
// RUN: sed 's/b = 8, s = 64/b = 64, s = 32768/' %examples/ulysses.mlir | tpsp-opt %to_ledger | %ledger_counts | diff %t.counts -
//
// The same from reshards, which save both placements of the result: no exchange is
// repeated. q, k and v are unplaced: what a reshard asks for is done there.
// RUN: sed -e '/= einsum .w[qkv]/s/h@cp, k/h, k, ?/' -e 's/%k  = rename %k0 ->.*/%k1 = reshard %k0 -> [b, s, h@cp, k]\n  %k = rename %k1 -> [b, t, h, k, ?]/' -e 's/%v  = rename %v0 ->.*/%v1 = reshard %v0 -> [b, s, h@cp, k]\n  %v = rename %v1 -> [b, t, h, k, ?]/' -e 's/%o  = attention %q/%q1 = reshard %q -> [b, s, h@cp, k]\n  %o1 = attention %q1/' -e 's/%a  = einsum %wo, %o/%o = reshard %o1 -> [b, s@cp, h, k]\n  %a = einsum %wo, %o/' %examples/ulysses.mlir > %t.reshard.mlir
// RUN: tpsp-opt %t.reshard.mlir %to_ledger | %ledger_rows > %t.reshards
// RUN: sed -n 's/^.. RESHARD: //p' %s | diff - %t.reshards

// ROW: 1 backward all_reduce cp () 2370048
// ROW: 4 backward all_to_all cp (h -> s) 49152
// ROW: 4 backward all_to_all cp (h -> t) 49152
// ROW: 2 backward all_to_all cp (s -> h) 49152
// ROW: 2 forward all_to_all cp (h -> s) 49152
// ROW: 2 forward all_to_all cp (s -> h) 49152
// ROW: 4 forward all_to_all cp (t -> h) 49152

// RESHARD: 1 backward all_reduce cp () 2370048
// RESHARD: 6 backward all_to_all cp (h -> s) 49152
// RESHARD: 2 backward all_to_all cp (s -> h) 49152
// RESHARD: 2 forward all_to_all cp (h -> s) 49152
// RESHARD: 6 forward all_to_all cp (s -> h) 49152
