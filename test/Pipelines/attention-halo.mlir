// A window of 1024 keys, and shards of 16384: each rank sends its neighbour 1023
// keys and as many values, 1023 * 8 * 128 * 2 = 2095104 bytes each.
// Backward their gradients come back.
// RUN: sed 's/WINDOW/1024/' %s | tpsp-opt %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
// RUN: sed 's/WINDOW/1024/' %s | tpsp-opt --tpsp-collective-pipeline="grad attention=fused" --tpsp-drop-primals --tpsp-partition --convert-tpsp-to-plan | %ledger_rows > %t.fused
// RUN: diff %t.rows %t.fused

// A window of more than a shard has the end of one shard, and all of another.
// RUN: sed 's/WINDOW/20000/' %s > %t.mlir && tpsp-opt %t.mlir --tpsp-explain -o /dev/null | FileCheck %s --check-prefix=LONG
// LONG: o.concat[b, s.shard@cp, t.halo, g, k] = concat(o.cut[b, s.shard@cp, t.end, g, k], o.split2[b, s.shard@cp, t.in, g, k], o.split2[b, s.shard@cp, t.in, g, k], index=t.halo)
// LONG: permute o.cut[b, s.shard@cp, t.end, g, k]
// LONG-NEXT: over cp along s.shard, 7.1 MiB per rank: @cp divides s.shard, and each shard reads the one 2 before it
// LONG: permute o.split2[b, s.shard@cp, t.in, g, k]
// LONG-NEXT: over cp along s.shard, 32.0 MiB per rank: @cp divides s.shard, and each shard reads the one 1 before it

// If a window reaches all keys, they are gathered.
// RUN: sed 's/WINDOW/114688/' %s > %t.mlir && tpsp-opt %t.mlir --tpsp-explain -o /dev/null | FileCheck %s --check-prefix=LAST --implicit-check-not=all_gather
// LAST: forward permute over cp x14
// RUN: sed 's/WINDOW/114689/' %s > %t.mlir && tpsp-opt %t.mlir --tpsp-explain -o /dev/null | FileCheck %s --check-prefix=WHOLE --implicit-check-not=permute
// WHOLE: forward all_gather over cp x2 448.0 MiB

tpsp.program bf16 <b = 1, s = 131072, t = s, g = 8, r = 4, k = 128> {
mesh @mesh <cp = 8 : data>
func @attention(%q: [b, s@cp, g, r, k], %k0, %v0: [b, s@cp, g, k]) -> [b, s@cp, g, r, k] {
  %k = rename %k0 -> [b, t, g, k, ?]
  %v = rename %v0 -> [b, t, g, k, ?]
  %o = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.08838834764831845, causal, window = WINDOW}
  return %o
}
}

// ROW: 2 backward permute cp (s.shard) 2095104
// ROW: 2 forward permute cp (s.shard) 2095104
