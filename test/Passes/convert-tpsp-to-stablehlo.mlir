// Programs as StableHLO. test/jax/stablehlo.py tests that the numbers are right.
//
// RUN: tpsp-opt %s --split-input-file --tpsp-to-stablehlo | FileCheck %s
// RUN: tpsp-opt %examples/mlp-sp.mlir --tpsp-to-stablehlo=grad=true \
// RUN:   | FileCheck %s --check-prefix=GRAD

// Names and placements at the ends; a constraint only if a placement does not
// follow from the operands'. Index names are dropped.

// CHECK-LABEL: module {
// CHECK-NOT: tpsp
// CHECK: "sdy.mesh"() {mesh = #sdy.mesh<["dp"=1, "tp"=2]>, sym_name = "mesh"}
// CHECK: func.func @main(%[[X:.*]]: tensor<3x4x5xf32> {jax.arg_info = "x", sdy.sharding = #sdy.sharding<@mesh, [{"dp"}, {"tp"}, {}]>},
// CHECK-SAME: %[[W:.*]]: tensor<6x5xf32> {jax.arg_info = "mlp.w", sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>})
// CHECK-SAME: -> (tensor<3x4x6xf32> {jax.result_info = "y", sdy.sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {"tp"}]>})
// CHECK: %[[DOT:.*]] = "stablehlo.dot_general"(%[[W]], %[[X]])
// CHECK-SAME: #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [2]>
// CHECK-SAME: -> tensor<6x3x4xf32>
// CHECK: %[[T:.*]] = "stablehlo.transpose"(%[[DOT]]) {permutation = array<i64: 1, 2, 0>}
// CHECK: %[[PLACED:.*]] = "sdy.sharding_constraint"(%[[T]]) {sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {"tp"}]>}
// CHECK: %[[EXP:.*]] = "stablehlo.exponential"(%[[PLACED]])
// CHECK-NOT: sharding_constraint
// CHECK: return %[[EXP]]

// The backward pass, too: its cotangents are arguments.
// GRAD: func.func @main
// GRAD-SAME: jax.arg_info = "g[z]"
// GRAD-SAME: jax.result_info = "z"
// GRAD-SAME: jax.result_info = "g[x]"
// GRAD-SAME: jax.result_info = "g[w0]"

tpsp.program <b = 3, s = 4, d = 5, e = 6> {
mesh @mesh <dp = 1 : data, tp = 2 : model>
func @model(%x: [b@dp, s@tp, d], param %w "mlp.w": [e@tp, d]) -> [b@dp, s, e@tp] {
  %h = einsum %w, %x -> [b, s, e, ?]
  %y = exp %h
  return %y
}
}

// -----

// Roles of dimensions: batch, summed, of one operand alone.

// CHECK-LABEL: module {
// CHECK: %[[SUM:.*]] = "stablehlo.reduce"(%arg0,
// CHECK: "stablehlo.add"
// CHECK: dimensions = array<i64: 1>
// CHECK-SAME: -> tensor<3x5x7xf32>
// CHECK: "stablehlo.dot_general"(%[[SUM]], %arg1)
// CHECK-SAME: #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [2]>
// CHECK-SAME: -> tensor<3x7x2xf32>
tpsp.program <b = 3, a = 4, d = 5, e = 2, f = 7> {
func @model(%x: [b, a, d, f], %w: [e, b, d]) -> [f, e, b] {
  %y = einsum %x, %w -> [f, e, b]
  return %y
}
}

// -----

// A request for a placement is a constraint. So are the ends of a collective, each
// written once; a partial one is left out.

// CHECK-LABEL: module {
// CHECK: %[[R:.*]] = "sdy.sharding_constraint"(%arg0) {sharding = #sdy.sharding<@"the mesh", [{}, {"a", "b"}]>}
// CHECK-NEXT: %[[G:.*]] = "sdy.sharding_constraint"(%[[R]]) {sharding = #sdy.sharding<@"the mesh", [{}, {"a"}]>}
// CHECK: %[[P:.*]] = "stablehlo.reduce"(%[[G]]
// CHECK: %[[A:.*]] = "sdy.sharding_constraint"(%[[P]]) {sharding = #sdy.sharding<@"the mesh", [{}]>}
// CHECK-NEXT: %[[B:.*]] = "sdy.sharding_constraint"(%arg0) {sharding = #sdy.sharding<@"the mesh", [{"b"}, {}]>}
// CHECK-NEXT: %[[C:.*]] = "sdy.sharding_constraint"(%[[B]]) {sharding = #sdy.sharding<@"the mesh", [{}, {"b"}]>}
// CHECK-NEXT: return %[[A]], %[[C]]
tpsp.mesh @"the mesh" <a = 2, b = 2>
!s = tensor<4x8xf32, #tpsp.idx<s@b, d>>
!d = tensor<4x8xf32, #tpsp.idx<s, d@a@b>>
!a = tensor<4x8xf32, #tpsp.idx<s, d@a>>
!t = tensor<4x8xf32, #tpsp.idx<s, d@b>>
func.func @f(%x: !s) -> (tensor<4xf32, #tpsp.idx<s>>, !t) {
  %y = tpsp.reshard %x : !s -> !d
  %z = tpsp.all_gather %y ["b"] : !d -> !a
  %p = tpsp.reduce %z : !a -> tensor<4xf32, #tpsp.idx<s | sum@a>>
  %r = tpsp.all_reduce %p ["a"] : (tensor<4xf32, #tpsp.idx<s | sum@a>>) -> tensor<4xf32, #tpsp.idx<s>>
  %t = tpsp.all_to_all %x ["b"] : !s -> !t
  return %r, %t : tensor<4xf32, #tpsp.idx<s>>, !t
}

// -----

// Storage of 16 bits: numbers are computed in f32. Without a mesh there are no
// shardings.

// CHECK-LABEL: module {
// CHECK-NOT: sdy
// CHECK: func.func @main(%arg0: tensor<3x5xbf16> {jax.arg_info = "x"}) -> (tensor<3xbf16> {jax.result_info = "y"})
// CHECK: "stablehlo.convert"(%arg0) : (tensor<3x5xbf16>) -> tensor<3x5xf32>
// CHECK: "stablehlo.maximum"{{.*}} tensor<f32>
// CHECK: "stablehlo.convert"{{.*}} -> tensor<3xbf16>
tpsp.program bf16 <s = 3, d = 5> {
func @f(%x: [s, d] {tpsp.frozen}) -> [s] {
  %y = reduce %x {kind = "max"} -> [s]
  return %y
}
}

// -----

// A table is looked up by position: 0 beyond its ends.

// CHECK-LABEL: module {
// CHECK: "stablehlo.gather"(%arg1, %arg0)
// CHECK-SAME: #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>
// CHECK-SAME: slice_sizes = array<i64: 1, 5>
// CHECK: #stablehlo<comparison_direction GE>
// CHECK: #stablehlo<comparison_direction LT>
// CHECK: "stablehlo.select"
tpsp.program <b = 2, s = 3, d = 5, v = 11> {
func @f(%ids: i32[b, s], %table: [v, d]) -> [b, s, d] {
  %y = embedding %ids, %table {vocabulary = "v"}
  return %y
}
}

// -----

// Lengths are compared with positions.

// CHECK-LABEL: module {
// CHECK-DAG: %[[N:.*]] = "stablehlo.broadcast_in_dim"(%arg1) {broadcast_dimensions = array<i64: 0>}
// CHECK-DAG: %[[T:.*]] = "stablehlo.iota"() {iota_dimension = 2 : i64}
// CHECK: %[[WIDE:.*]] = "stablehlo.convert"(%[[N]]) : (tensor<2x3x5xi32>) -> tensor<2x3x5xi64>
// CHECK: %[[BEFORE:.*]] = "stablehlo.compare"(%[[T]], %[[WIDE]]) {{.*}}LT
// CHECK: "stablehlo.select"(%[[BEFORE]], %arg0
tpsp.program <b = 2, s = 3, t = 5> {
func @f(%x: [b, s, t], %n: i32[b]) -> [b, s, t] {
  %y = length_mask %x, %n {index = "t", fill = -1}
  return %y
}
}
