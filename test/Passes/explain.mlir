// --tpsp-explain of an example, start to end.
// RUN: tpsp-opt %examples/mlp-sp.mlir --tpsp-explain -o /dev/null | FileCheck %s

//      CHECK: mlp_grad on tp=4
//      CHECK: {{^}}forward
// CHECK-NEXT:     > all_gather x[b, s@tp, d] -> [b, s, d]
// CHECK-NEXT:       over tp along s, 192.0 KiB per rank: @tp divides e of this einsum, which the operand lacks ({{.*}}mlp-sp.mlir:17)
// CHECK-NEXT:   y[b, s, e@tp] = w0[e@tp, d] · x[b, s, d]
// CHECK-NEXT:   v[b, s, e@tp] = gelu(y[b, s, e@tp])
// CHECK-NEXT:   z[b, s, d | sum@tp] = w1[d, e@tp] · v[b, s, e@tp]
// CHECK-NEXT:     > reduce_scatter z[b, s, d | sum@tp] -> [b, s@tp, d]
// CHECK-NEXT:       over tp along s, 192.0 KiB per rank: @tp divides e, which is summed away ({{.*}}mlp-sp.mlir:19)
//      CHECK: {{^}}backward
// CHECK-NEXT:     > all_gather g[z][b, s@tp, d] -> [b, s, d]
//      CHECK:   g[w1][d, e@tp] = g[z][b, s, d] · v[b, s, e@tp]
//      CHECK:   slope(y[b, s, e@tp], of=gelu)
//      CHECK:     > all_gather x[b, s@tp, d] -> [b, s, d]
//      CHECK:   g[w0][e@tp, d] = g[y][b, s, e@tp] · x[b, s, d]
// CHECK-NEXT:   g[x][b, s, d | sum@tp] = g[y][b, s, e@tp] · w0[e@tp, d]
// CHECK-NEXT:     > reduce_scatter g[x][b, s, d | sum@tp] -> [b, s@tp, d]
//      CHECK: {{^}}totals (bytes sent per rank)
// CHECK-NEXT:   forward all_gather over tp x1 192.0 KiB
// CHECK-NEXT:   forward reduce_scatter over tp x1 192.0 KiB
// CHECK-NEXT:   backward all_gather over tp x2 384.0 KiB
// CHECK-NEXT:   backward reduce_scatter over tp x1 192.0 KiB
//      CHECK: {{^}}saved for the backward pass (bytes per rank)
// CHECK-NEXT:   x[b, s@tp, d] x1 64.0 KiB
// CHECK-NEXT:   y[b, s, e@tp] x1 256.0 KiB
// CHECK-NEXT:   v[b, s, e@tp] x1 256.0 KiB
// CHECK-NEXT:   total x3 576.0 KiB
//  CHECK-NOT: {{.}}
