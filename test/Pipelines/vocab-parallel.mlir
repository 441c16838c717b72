// Vocabulary parallelism. Forward: the embedding's partial rows are scattered
// onto the sequence, and the loss reduces the row maximum, the row sum and the
// target's logit, never the logits. Backward: the logits' gradient is where the
// logits are. Only activations are gathered, A (T-1)/T bytes each with A =
// 2*64*128*4 bytes.
// RUN: tpsp-opt %examples/vocab-parallel.mlir --tpsp-explain | FileCheck %s --check-prefix=TOTALS
// With activations replicated between the layers the embedding is all-reduced.
// RUN: sed 's/s@tp/s/g' %examples/vocab-parallel.mlir | tpsp-opt --tpsp-explain | FileCheck %s --check-prefix=TP
// RUN: tpsp-opt %examples/vocab-parallel.mlir --inline %to_collectives | FileCheck %s
// RUN: sed 's/b = 2, s = 64/b = 1, s = 128/' %examples/vocab-parallel.mlir | tpsp-opt --inline %to_collectives | FileCheck %s
// RUN: sed 's/b = 2, s = 64/b = 64, s = 128/' %examples/vocab-parallel.mlir | tpsp-opt --inline %to_collectives | FileCheck %s
// RUN: sed 's/b = 2, s = 64/b = 64, s = 32768/' %examples/vocab-parallel.mlir | tpsp-opt --inline %to_collectives | FileCheck %s

// CHECK-LABEL: func.func @model_grad(
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {reason = "@tp divides v, which is summed away", tensor = "one_hot_einsum"}
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "@tp divides e of this einsum, which the operand lacks", tensor = "rms_norm"}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"]
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"]
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"]
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {reason = "@tp divides v of this einsum, which the operand lacks", tensor = "rms_norm"}
// The row's maximum, its sum, and the target's logit: [b, s] each.
// CHECK: tpsp.all_reduce {{.*}} : (tensor<{{[0-9]+x[0-9]+}}xf32, #tpsp.idx<b, s | max@tp>>)
// CHECK: tpsp.all_reduce {{.*}} : (tensor<{{[0-9]+x[0-9]+}}xf32, #tpsp.idx<b, s | sum@tp>>
// CHECK-NOT: idx<b, s, v>
// CHECK: tpsp.all_gather %{{[^ ]+}} ["tp"] {{.*}}tensor = "rms_norm", tpsp.origin = #tpsp.origin<backward>}
// CHECK: tpsp.reduce_scatter %{{[^ ]+}} ["tp"] {{.*}}tpsp.origin = #tpsp.origin<backward>}

// TOTALS: forward   all_gather      over tp       x3       144.0 KiB
// TOTALS: forward   all_reduce      over tp       x2         2.2 KiB
// TOTALS: forward   reduce_scatter  over tp       x3       144.0 KiB
// TOTALS: backward  all_gather      over tp       x6       288.0 KiB
// TOTALS: backward  all_reduce      over tp       x1         2.2 KiB
// TOTALS: backward  reduce_scatter  over tp       x3       144.0 KiB

// TP: > all_reduce {{.*}}[b, s, d | sum@tp] -> [b, s, d]
// TP: forward   all_reduce      over tp
// TP-NEXT: backward  all_reduce      over tp

// All rows: A = 2*64*128*4 = 65536 bytes, of which 3/4 move; [b, s] numbers are
// 512 bytes, all-reduced at 3/2, two tensors at once; three gains of 128.
// RUN: tpsp-opt %examples/vocab-parallel.mlir %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
// ROW: 6 backward all_gather tp (s) 49152
// ROW: 1 backward all_reduce tp () 2304
// ROW: 3 backward reduce_scatter tp (s) 49152
// ROW: 3 forward all_gather tp (s) 49152
// ROW: 1 forward all_reduce tp () 1536
// ROW: 1 forward all_reduce tp () 768
// ROW: 3 forward reduce_scatter tp (s) 49152
