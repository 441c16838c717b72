// RUN: tpsp-opt %s --convert-tpsp-plan-to-llvm --split-input-file --verify-diagnostics > %t
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=DATA < %t

// One call per command with a constant record; at the first status that is not
// 0 the step returns it. Buffers are their offsets, in the call's order; the
// record's name tells people which command it is.
// CHECK-DAG: llvm.func @tpsp_rt_all_reduce(!llvm.ptr, !llvm.ptr) -> i32
// CHECK-DAG: llvm.func @tpsp_rt_kernel(!llvm.ptr, !llvm.ptr) -> i32
// DATA-DAG: llvm.mlir.global internal constant @__tpsp_step_buffers_0(dense<[0, 128, 64, 192]> : tensor<4xi64>)
// DATA-DAG: llvm.mlir.global internal constant @__tpsp_step_name_0("all_reduce g at {{.*}}.mlir:{{[0-9]+}}:{{[0-9]+}}\00")
// DATA-DAG: llvm.mlir.global internal constant @__tpsp_step_name_1("kernel k at

// A kernel is called through arrays of buffers and of positions.
// CHECK-LABEL: llvm.func @k_entry(%{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr, %{{.+}}: i64, %{{.+}}: i64)
// CHECK: llvm.getelementptr %arg0[0]
// CHECK: llvm.getelementptr %arg0[1]
// CHECK: llvm.getelementptr %arg1[0] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK: llvm.call @k(

// CHECK-LABEL: llvm.func @step(%{{.+}}: !llvm.ptr, %{{.+}}: i64) -> i32
// CHECK: %[[NONE:.+]] = llvm.mlir.constant(0 : i32)
// CHECK: llvm.switch %{{.+}} : i64, ^[[OUT:.+]](%[[NONE]] : i32)
// CHECK: 0: ^[[FIRST:.+]]
// CHECK: ^[[FIRST]]:
// CHECK: %[[RECORD:.+]] = llvm.mlir.addressof @__tpsp_step_command_0
// CHECK: %[[STATUS:.+]] = llvm.call @tpsp_rt_all_reduce(%arg0, %[[RECORD]])
// CHECK: %[[OK:.+]] = llvm.icmp "eq" %[[STATUS]]
// CHECK: llvm.cond_br %[[OK]], ^[[NEXT:.+]], ^[[OUT]](%[[STATUS]] : i32)
// CHECK: ^[[NEXT]]:
// CHECK: llvm.call @tpsp_rt_kernel
// CHECK: llvm.cond_br %{{.+}}, ^[[END:.+]], ^[[OUT]](
// CHECK: ^[[END]]:
// CHECK: %[[ZERO:.+]] = llvm.mlir.constant(0 : i32)
// CHECK: llvm.br ^[[OUT]](%[[ZERO]] : i32)
// CHECK: ^[[OUT]](%[[RESULT:.+]]: i32):
// CHECK: llvm.return %[[RESULT]]
// CHECK-NOT: plan.
llvm.func @k(%x: !llvm.ptr, %y: !llvm.ptr, %start: i64, %begin: i64, %end: i64) {
  llvm.return
}
plan.program @step attributes {axes = ["tp"], sizes = array<i64: 2>, arena_bytes = 256} {
  %a = plan.buffer "input" "a" {number = 0 : i64, offset = 0} : memref<4xf32>
  %b = plan.buffer "input" "b" {number = 1 : i64, offset = 64} : memref<4xf32>
  %c = plan.buffer "temporary" {offset = 128} : memref<4xf32>
  %d = plan.buffer "temporary" {offset = 192} : memref<4xf32>
  plan.all_reduce (%a, %b) to (%c, %d) {axes = array<i64: 0>, ledger = #plan.ledger<tensor = "g">} : (memref<4xf32>, memref<4xf32>) -> (memref<4xf32>, memref<4xf32>)
  plan.kernel @k(%c) to(%d) {grid = 4 : i64, positions = [array<i64: 4, 0, 0, 0, 0>]} : (memref<4xf32>) -> memref<4xf32>
}

// -----

plan.program @unallocated attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" "a" {number = 0 : i64} : memref<4xf32>
  %b = plan.buffer "temporary" : memref<4xf32>
  // expected-error @+1 {{uses a buffer without an offset; run tpsp-allocate first}}
  plan.slice %a to %b {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
}

// -----

func.func private @k(%x: memref<4xf32>, %y: memref<4xf32>, %begin: index, %end: index) {
  return
}
plan.program @kernels_first attributes {axes = [], sizes = array<i64>, arena_bytes = 128} {
  %a = plan.buffer "input" "a" {number = 0 : i64, offset = 0} : memref<4xf32>
  %b = plan.buffer "temporary" {offset = 64} : memref<4xf32>
  // expected-error @+1 {{kernel @k is not an LLVM function yet}}
  plan.kernel @k(%a) to(%b) {grid = 4 : i64, positions = []} : (memref<4xf32>) -> memref<4xf32>
}

// -----

// Where a part of a tile begins: at once (64 + 4 * (8 + 2)), and on the rank,
// from the part's beginning in the rank's own tile (128 + 4 * 2), tile 1 of 32
// bytes each.
// CHECK-DAG: llvm.mlir.global internal constant @__tpsp_parts_buffers_0(dense<[104, 136]> : tensor<2xi64>)
// CHECK-DAG: llvm.mlir.global internal constant @__tpsp_parts_tiles_0(dense<[1, 1, 32, 1, 0]> : tensor<5xi64>)
plan.program @parts attributes {axes = ["tp"], sizes = array<i64: 2>, arena_bytes = 256} {
  %a = plan.buffer "input" "a" {number = 0 : i64, offset = 64} : memref<16xf32>
  %b = plan.buffer "temporary" {offset = 128} : memref<16xf32>
  %s = plan.tile %a {tiles = 2, chunk = 8, number = 1, parts = 4, part = 1} : memref<16xf32> to memref<2xf32>
  %t = plan.tile %b {tiles = 2, chunk = 8, number = 1, axes = array<i64: 0>, parts = 4, part = 1} : memref<16xf32> to memref<2xf32>
  plan.slice %s to %t {axes = array<i64>, outer = 1, chunk = 2} : memref<2xf32> to memref<2xf32>
}
