// Reductions cut with the product before them in chunks of columns: five rows
// cannot be cut in four. Each chunk is reduced dense and copied to its columns.
//
// RUN: tpsp-opt %s --tpsp-pipeline="grad overlap=on overlap-chunks=4" \
// RUN:   | FileCheck %s --check-prefix=PLAN
// RUN: tpsp-run %s --function scattered --grad --verify --overlap on \
// RUN:   --overlap-chunks 4 | FileCheck %s
// RUN: tpsp-run %s --function reduced --grad --verify --overlap on \
// RUN:   --overlap-chunks 4 | FileCheck %s
// RUN: tpsp-run %s --function scattered --grad --verify --overlap on \
// RUN:   --overlap-chunks 2 | FileCheck %s
//
// CHECK: all within tolerance

tpsp.mesh @mesh <tp = 2 : model>

!w0 = tensor<72x64xf32, #tpsp.idx<e@tp, d>>
!w1 = tensor<64x72xf32, #tpsp.idx<d, e@tp>>
!v  = tensor<3x10x72xf32, #tpsp.idx<b, s, e, ?>>

// PLAN: plan.program @scattered_grad
// PLAN: plan.reduce_scatter {{.*}} to %[[PART:[0-9]+]] {{.*}}chunk = 80 : i64{{.*}}outer = 3 : i64
// PLAN: plan.slice %[[PART]] to %{{[0-9]+}} {axes = array<i64>, chunk = 16 : i64, outer = 15 : i64, pitch = 64 : i64}
!sharded = tensor<3x10x64xf32, #tpsp.idx<b, s@tp, d>>
func.func @scattered(%x: !sharded, %w0: !w0 {tpsp.param},
                     %w1: !w1 {tpsp.param}) -> !sharded {
  %y = tpsp.einsum %w0, %x : (!w0, !sharded) -> !v
  %v = tpsp.gelu %y : !v
  %z = tpsp.einsum %w1, %v : (!w1, !v) -> !sharded
  return %z : !sharded
}

// PLAN: plan.program @reduced_grad
// PLAN: plan.all_reduce({{.*}}) to(%[[PART:[0-9]+]])
// PLAN: plan.slice %[[PART]] to %{{[0-9]+}} {axes = array<i64>, chunk = 16 : i64, outer = 15 : i64, pitch = 64 : i64}
!whole = tensor<3x5x64xf32, #tpsp.idx<b, s, d>>
!u  = tensor<3x5x72xf32, #tpsp.idx<b, s, e, ?>>
func.func @reduced(%x: !whole, %w0: !w0 {tpsp.param},
                   %w1: !w1 {tpsp.param}) -> !whole {
  %y = tpsp.einsum %w0, %x : (!w0, !whole) -> !u
  %v = tpsp.gelu %y : !u
  %z = tpsp.einsum %w1, %v : (!w1, !u) -> !whole
  return %z : !whole
}
