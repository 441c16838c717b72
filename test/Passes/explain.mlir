// --tpsp-explain of an example, start to end: equations over the tensors as they
// are placed, and under each its collectives.
// RUN: tpsp-opt %examples/mlp-sp.mlir --tpsp-explain -o /dev/null | FileCheck %s

//      CHECK: mlp_grad on tp=4
//      CHECK: {{^}}forward
// CHECK-NEXT:   y[b, s, e@tp] = w0[e@tp, d] · x[b, s@tp, d]
// CHECK-NEXT:     > all_gather x[b, s@tp, d] -> [b, s, d]
// CHECK-NEXT:       over tp along s, 192.0 KiB per rank: @tp divides e of this einsum, which the operand lacks ({{.*}}mlp-sp.mlir:10)
// CHECK-NEXT:   v[b, s, e@tp] = gelu(y[b, s, e@tp])
// CHECK-NEXT:   z[b, s@tp, d] = w1[d, e@tp] · v[b, s, e@tp]
// CHECK-NEXT:     > reduce_scatter z[b, s, d | sum@tp] -> [b, s@tp, d]
// CHECK-NEXT:       over tp along s, 192.0 KiB per rank: @tp divides e, which is summed away ({{.*}}mlp-sp.mlir:12)
//      CHECK: {{^}}backward
// CHECK-NEXT:   g[w1][d, e@tp] = g[z][b, s@tp, d] · v[b, s, e@tp]
// CHECK-NEXT:     > all_gather g[z][b, s@tp, d] -> [b, s, d]
// CHECK-NEXT:       over tp along s, 192.0 KiB per rank: @tp divides e of this einsum, which the operand lacks ({{.*}}mlp-sp.mlir:12)
// CHECK-NEXT:   g[v][b, s, e@tp] = g[z][b, s@tp, d] · w1[d, e@tp]
// CHECK-NEXT:       g[z][b, s, d] is there already
//      CHECK:   g[y][b, s, e@tp] = gelu'(g[v][b, s, e@tp], y[b, s, e@tp])
//      CHECK:   g[w0][e@tp, d] = g[y][b, s, e@tp] · x[b, s@tp, d]
// CHECK-NEXT:     > all_gather x[b, s@tp, d] -> [b, s, d]
//      CHECK:   g[x][b, s@tp, d] = g[y][b, s, e@tp] · w0[e@tp, d]
// CHECK-NEXT:     > reduce_scatter g[x][b, s, d | sum@tp] -> [b, s@tp, d]
//      CHECK: {{^}}totals (bytes sent per rank)
// CHECK-NEXT:   forward all_gather over tp x1 192.0 KiB
// CHECK-NEXT:   forward reduce_scatter over tp x1 192.0 KiB
// CHECK-NEXT:   backward all_gather over tp x2 384.0 KiB
// CHECK-NEXT:   backward reduce_scatter over tp x1 192.0 KiB
// CHECK-NEXT:   forward of every kind over tp x2 384.0 KiB
// CHECK-NEXT:   backward of every kind over tp x3 576.0 KiB
//      CHECK: {{^}}saved for the backward pass (bytes per rank)
// CHECK-NEXT:   x[b, s@tp, d] x1 64.0 KiB
// CHECK-NEXT:   y[b, s, e@tp] x1 256.0 KiB
// CHECK-NEXT:   v[b, s, e@tp] x1 256.0 KiB
// CHECK-NEXT:   total x3 576.0 KiB
//  CHECK-NOT: {{.}}

// The same rows as remarks.
// RUN: tpsp-opt %examples/mlp-sp.mlir --tpsp-explain --remarks-filter='tpsp-print.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: mlp-sp.mlir:10:8: remark: [Analysis] all_gather | Category:tpsp-print-explanation | Reason="@tp divides e of this einsum, which the operand lacks", axes=tp, bytes=196608, index=s, phase=forward, tensor=x
// REMARK: mlp-sp.mlir:10:8: remark: [Analysis] reduce_scatter | {{.*}} axes=tp, bytes=196608, index=s, phase=backward, tensor=g[x]

// A bucket stands where its last tensor is ready, with the lines of all tensors
// that it reduces.
// RUN: tpsp-opt %examples/gpt-block-sp.mlir --tpsp-explain -o /dev/null | FileCheck %s --check-prefix=BUCKET
// BUCKET: g[b2][d | sum@tp] = reduce(g[z][b, s@tp, d], kind=sum)
// BUCKET-NOT: > all_reduce
// BUCKET: g[ln1.gain][d | sum@tp] =
// BUCKET-NEXT: > all_reduce g[b2][d | sum@tp] -> [d]
// BUCKET: over tp, 9.0 KiB per rank: @tp divides s, which is summed away ({{.*}}gpt-block-sp.mlir:37, 32, 29, 18)
