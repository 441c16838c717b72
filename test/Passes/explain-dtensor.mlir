// --tpsp-explain=dtensor: a word for each axis of the mesh, in its order.
// RUN: split-file %s %t

// Pending axes are partial. FSDP over tensor parallelism divides what tp has
// divided: DTensor's own order is that of the mesh.
// RUN: tpsp-opt %examples/tp-sp-fsdp.mlir --tpsp-explain=dtensor -o /dev/null | FileCheck %s
//      CHECK: {{^}}placements of DTensor on a mesh (fsdp, tp)
// CHECK-NEXT: {{^}}  forward
// CHECK-NEXT: {{^}}    layer0.xn[b@fsdp, s@tp, d] {{ *}}(Shard(0), Shard(1)){{$}}
//      CHECK: {{^}}    layer0.gain1[d] {{ *}}(Replicate(), Replicate()){{$}}
//      CHECK: {{^}}    layer0.wq[h@tp@fsdp, k, d] {{ *}}(_StridedShard(0, split_factor=2), Shard(0)){{$}}
// CHECK-NEXT: {{^}}    layer0.wq[h@tp, k, d] {{ *}}(Replicate(), Shard(0)){{$}}
//      CHECK: {{^}}    layer0.a[b@fsdp, s, d | sum@tp] {{ *}}(Shard(0), Partial()){{$}}
//      CHECK: {{^}}  backward
//  CHECK-NOT: layer0.xn[b@fsdp, s@tp, d]

// RUN: tpsp-opt %examples/vocab-parallel.mlir --tpsp-explain=dtensor -o /dev/null | FileCheck %s --check-prefix=MAX
// MAX: {{^}}    token.reduce[b, s | max@tp] {{ *}}(Partial("max")){{$}}

// Axes in the order of the mesh and in others: numbers that torch's _StridedShard
// divides alike (2 x 3 x 5 ranks).
// RUN: tpsp-opt %t/orders.mlir --tpsp-explain=dtensor -o /dev/null | FileCheck %s --check-prefix=ORDERS
//  ORDERS-DAG: {{^}}    a[d@x@y@z] {{ *}}(Shard(0), Shard(0), Shard(0)){{$}}
//  ORDERS-DAG: {{^}}    b[d@x@z@y] {{ *}}(Shard(0), _StridedShard(0, split_factor=5), Shard(0)){{$}}
//  ORDERS-DAG: {{^}}    c[d@y@z@x] {{ *}}(_StridedShard(0, split_factor=15), Shard(0), Shard(0)){{$}}
//  ORDERS-DAG: {{^}}    e[d@z@x@y] {{ *}}(_StridedShard(0, split_factor=5), _StridedShard(0, split_factor=5), Shard(0)){{$}}
//  ORDERS-DAG: {{^}}    f[d@z@x] {{ *}}(_StridedShard(0, split_factor=5), Replicate(), Shard(0)){{$}}

// What DTensor cannot express, and what is not the tensor of the program.
// RUN: tpsp-opt %t/row.mlir --tpsp-explain=dtensor -o /dev/null | FileCheck %s --check-prefix=ROW
// ROW: {{^}}    g[d@fsdp] {{ *}}none: @fsdp cuts its elements as one row, because it does not divide d{{$}}
// ROW-NEXT: {{^}}    g[d] {{ *}}(Replicate(), Replicate()){{$}}
// RUN: tpsp-opt %t/row.mlir --tpsp-set-padding=pad=e=3 --tpsp-set-mesh=mesh=tp=3 --tpsp-explain=dtensor -o /dev/null | FileCheck %s --check-prefix=PADDED
// PADDED: {{^}}    w[e@tp, d] {{ *}}(Replicate(), Shard(0)) {{ *}}of e = 9, padded from 8{{$}}
// PADDED: {{^}}    g[d] {{ *}}(Replicate(), Replicate()){{$}}

// Without the option there is no table.
// RUN: tpsp-opt %examples/tp-sp-fsdp.mlir --tpsp-explain -o /dev/null | FileCheck %s --check-prefix=NONE
// NONE-NOT: Shard(
// RUN: not tpsp-opt %t/row.mlir --tpsp-explain=dtensors -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: dtensors

//--- orders.mlir
tpsp.program <d = 30> {
mesh @mesh <x = 2 : data, y = 3 : data, z = 5 : data>
func @sums(%a: [d@x@y@z], %b: [d@x@z@y], %c: [d@y@z@x], %e: [d@z@x@y], %f: [d@z@x]) -> ([d@x@y@z], [d@x@z@y], [d@y@z@x], [d@z@x@y], [d@z@x]) {
  %r = square %a
  %s = square %b
  %t = square %c
  %u = square %e
  %v = square %f
  return %r, %s, %t, %u, %v
}
}

//--- row.mlir
tpsp.program <b = 4, d = 6, e = 8> {
mesh @mesh <fsdp = 4 : data, tp = 1 : model>
func @mlp(%x: [b@fsdp, d], param %w: [e@tp, d], param %v: [d, e@tp], param %g: [d@fsdp]) -> [b@fsdp, d] {
  %y = einsum %w, %x -> [b, e, ?]
  %h = silu %y
  %o = einsum %v, %h -> [b, d, ?]
  %z = mul %g, %o -> [b, d, ?]
  return %z
}
}
