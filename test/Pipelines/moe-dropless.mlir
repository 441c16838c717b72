// Experts in blocks of rows send as much as experts with slots: for each layer two
// all-to-alls of rows forward and two backward, and the loads of experts, integers.
// RUN: tpsp-opt %examples/moe-dropless.mlir --tpsp-set-mesh=mesh=ep=4,tp=1 --tpsp-explain | FileCheck %s
// RUN: tpsp-opt %examples/moe-dropless.mlir --tpsp-explain | FileCheck %s --check-prefix=TP
// Longer groups: the same.
// RUN: sed 's/s = 32/s = 32768/; s/c = 24/c = 24576/' %examples/moe-dropless.mlir | tpsp-opt --tpsp-set-mesh=mesh=ep=4,tp=1 --tpsp-explain | FileCheck %s --check-prefix=SIZES

// CHECK: model_grad on ep=4, tp=1
// CHECK: all_to_all layer0.load[g@ep, j, i] -> [g, j@ep, i]
// CHECK: all_to_all layer0.y[j, g@ep, c, d] -> [j@ep, g, c, d]
// CHECK: layer0.u[j@ep, g, c, f@tp] = one_hot_einsum(layer0.expert[j@ep, g, c], layer0.w1[j@ep, i, f@tp, d], layer0.y[j@ep, g, c, d]
// CHECK: all_to_all layer0.v[j@ep, g, c, d] -> [j, g@ep, c, d]
// CHECK-LABEL: backward
// CHECK: all_to_all g[layer1.v][j, g@ep, c, d] -> [j@ep, g, c, d]
// CHECK: all_to_all g[layer1.y][j@ep, g, c, d] -> [j, g@ep, c, d]
// CHECK: totals
// CHECK-NOT: all_gather
// CHECK: forward   all_to_all      over ep       x6       288.1 KiB
// CHECK: backward  all_reduce      over ep       x1        13.5 KiB
// CHECK: backward  all_to_all      over ep       x4       288.0 KiB

// TP: totals
// TP: forward   all_reduce      over tp       x2
// TP: forward   all_to_all      over ep       x6
// TP: backward  all_reduce      over ep       x1
// TP: backward  all_reduce      over tp       x2
// TP: backward  all_to_all      over ep       x4{{ .*}}

// SIZES: totals
// SIZES: forward   all_to_all      over ep       x6
// SIZES: backward  all_reduce      over ep       x1
// SIZES: backward  all_to_all      over ep       x4
