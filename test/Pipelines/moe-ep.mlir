// Expert parallelism. For each layer: tokens to experts and back is an all-to-all
// each, forward and backward; experts' gradients need nothing more, for any
// number of experts; those of gains and gates, replicated over ep, are reduced
// once. On tp, the experts' hidden index is summed away: TP's own all-reduce. An
// all-to-all carries the slots, A = 8*8*12*128*4 bytes over ep=4 and tp=1: a rank
// holds A/4 and sends 3/4 of it.
// RUN: tpsp-opt %examples/moe-ep.mlir --tpsp-set-mesh=mesh=ep=4,tp=1 --tpsp-explain | FileCheck %s
// RUN: tpsp-opt %examples/moe-ep.mlir --tpsp-explain | FileCheck %s --check-prefix=TP
// More groups, longer groups: the same.
// RUN: sed 's/g = 8/g = 64/' %examples/moe-ep.mlir | tpsp-opt --tpsp-set-mesh=mesh=ep=4,tp=1 --tpsp-explain | FileCheck %s --check-prefix=SIZES
// RUN: sed 's/s = 32/s = 32768/; s/c = 12/c = 12288/' %examples/moe-ep.mlir | tpsp-opt --tpsp-set-mesh=mesh=ep=4,tp=1 --tpsp-explain | FileCheck %s --check-prefix=SIZES

// CHECK: model_grad on ep=4, tp=1
// CHECK: all_to_all layer0.y[e, g@ep, c, d] -> [e@ep, g, c, d]
// CHECK: all_to_all layer0.v[e@ep, g, c, d] -> [e, g@ep, c, d]
// CHECK-LABEL: backward
// CHECK: all_to_all g[layer1.v][e, g@ep, c, d] -> [e@ep, g, c, d]
// CHECK: all_to_all g[layer1.y][e@ep, g, c, d] -> [e, g@ep, c, d]
// CHECK: totals
// CHECK: forward   all_to_all      over ep       x4       288.0 KiB
// CHECK-NOT: all_gather
// CHECK: backward  all_reduce      over ep       x1        13.5 KiB
// CHECK: backward  all_to_all      over ep       x4       288.0 KiB

// TP: totals
// TP: forward   all_reduce      over tp       x2
// TP: forward   all_to_all      over ep       x4
// TP: backward  all_reduce      over ep       x1
// TP: backward  all_reduce      over tp       x2
// TP: backward  all_to_all      over ep       x4{{ .*}}

// SIZES: totals
// SIZES: forward   all_to_all      over ep       x4
// SIZES: backward  all_reduce      over ep       x1
// SIZES: backward  all_to_all      over ep       x4

// All rows. Slots are 8*8*12*128*4 = 393216 bytes: an all-to-all over ep=4 sends
// 3/4 of a quarter; on ep=2 half of a half, and over tp half of the rank's
// partial slots twice. Gains and gates: 2 (128 + 8*128) numbers, 2 (T-1)/T.
// RUN: tpsp-opt %examples/moe-ep.mlir --tpsp-set-mesh=mesh=ep=4,tp=1 %to_ledger | %ledger_rows > %t.four
// RUN: sed -n 's,^// FOUR: *,,p' %s | diff - %t.four
// RUN: tpsp-opt %examples/moe-ep.mlir %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
// FOUR: 1 backward all_reduce ep () 13824
// FOUR: 2 backward all_to_all ep (e -> g) 73728
// FOUR: 2 backward all_to_all ep (g -> e) 73728
// FOUR: 2 forward all_to_all ep (e -> g) 73728
// FOUR: 2 forward all_to_all ep (g -> e) 73728
// ROW: 1 backward all_reduce ep () 9216
// ROW: 2 backward all_reduce tp () 65536
// ROW: 2 backward all_to_all ep (e -> g) 98304
// ROW: 2 backward all_to_all ep (g -> e) 98304
// ROW: 2 forward all_reduce tp () 131072
// ROW: 2 forward all_to_all ep (e -> g) 98304
// ROW: 2 forward all_to_all ep (g -> e) 98304
