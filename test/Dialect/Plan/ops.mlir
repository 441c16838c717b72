// RUN: tpsp-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: plan.program @f attributes {arena_bytes = 512 : i64, axes = ["dp", "tp"], sizes = array<i64: 2, 4>}
plan.program @f attributes {axes = ["dp", "tp"], sizes = array<i64: 2, 4>, arena_bytes = 512} {
  // CHECK: plan.buffer "input" "x" {number = 0 : i64, offset = 0 : i64, tensor = tensor<4x4xf32, #tpsp.idx<s, d>>} : memref<4x4xf32>
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0 : i64, tensor = tensor<4x4xf32, #tpsp.idx<s, d>>} : memref<4x4xf32>
  // CHECK: plan.buffer "parameter" "w"
  %w = plan.buffer "parameter" "w" {number = 1 : i64} : memref<4x4xf32>
  // CHECK: plan.buffer "temporary" : memref<4x4xf32>
  %t = plan.buffer "temporary" : memref<4x4xf32>
  %y = plan.buffer "output" "y" {number = 0 : i64} : memref<4x4xf32>
  %g = plan.buffer "gradient" "g[w]" {number = 1 : i64} : memref<4x4xf32>

  // CHECK: plan.view %{{.+}} : memref<4x4xf32> to memref<16xf32>
  %v = plan.view %x : memref<4x4xf32> to memref<16xf32>
  // CHECK: plan.tile %{{.+}} {axes = array<i64: 1>, chunk = 4 : i64, number = 1 : i64, part = 1 : i64, parts = 2 : i64, tiles = 2 : i64} : memref<4x4xf32> to memref<4xf32>
  %p = plan.tile %x {tiles = 2, chunk = 4, number = 1, axes = array<i64: 1>, parts = 2, part = 1} : memref<4x4xf32> to memref<4xf32>
  %i = plan.buffer "temporary" : memref<4xi32>
  // CHECK: plan.grouped_matmul %{{.+}}, %{{.+}} by %{{.+}} to %{{.+}} {{{.*}}groups = 1
  plan.grouped_matmul %x, %w by %i to %t {sizes = array<i64: 4, 4, 4>, leading = array<i64: 4, 4, 4>, batch = array<i64>, accumulate = array<i64>, groups = 1 : i64, group_stride = 16 : i64, id_strides = array<i64>} : memref<4x4xf32>, memref<4x4xf32> by memref<4xi32> to memref<4x4xf32>
  // CHECK: plan.matmul
  plan.matmul %x, %w, %t {sizes = array<i64: 4, 4, 4>, leading = array<i64: 4, 4, 4>, transpose_a, transpose_b, batch = array<i64: 1, 16, 16, 16>, accumulate = array<i64>}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  // CHECK: plan.matmul %{{.+}}, %{{.+}}, %{{.+}} reads(%{{.+}} : memref<16xf32>) writes(%{{.+}} : memref<4x4xf32>) {{.*}}epilogue = ["bias", "keep", "gelu"]
  plan.matmul %x, %w, %t reads(%v : memref<16xf32>) writes(%y : memref<4x4xf32>) {epilogue = ["bias", "keep", "gelu"], sizes = array<i64: 1, 16, 4>, leading = array<i64: 4, 16, 16>, batch = array<i64>, accumulate = array<i64>}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  // CHECK: plan.kernel @k(%{{.+}}, %{{.+}}) to(%{{.+}}) {grid = 4 : i64, positions = [array<i64: 4, 3, 2, 0, 1>]}
  plan.kernel @k(%t, %v) to(%y) {grid = 4 : i64, positions = [array<i64: 4, 3, 2, 0, 1>]} : (memref<4x4xf32>, memref<16xf32>) -> memref<4x4xf32>
  // CHECK: plan.kernel @k() to(%{{.+}})
  plan.kernel @k() to(%y) {grid = 4 : i64, positions = []} : () -> memref<4x4xf32>
  // CHECK: plan.slice
  plan.slice %x to %t {axes = array<i64>, outer = 1, chunk = 16} : memref<4x4xf32> to memref<4x4xf32>
  // CHECK: plan.all_gather {{.*}} stream = 1
  plan.all_gather %x to %t {axes = array<i64: 1>, outer = 1, chunk = 16, stream = 1} : memref<4x4xf32> to memref<4x4xf32>
  // CHECK: plan.all_gather %{{.+}}, %{{.+}} to %{{.+}}, %{{.+}} {{.*}}others = array<i64: 1, 4, 0>
  plan.all_gather %x, %v to %t, %y {axes = array<i64: 1>, outer = 1, chunk = 16, others = array<i64: 1, 4, 0>} : memref<4x4xf32>, memref<16xf32> to memref<4x4xf32>, memref<4x4xf32>
  // CHECK: plan.reduce_scatter {{.*}} reduction = 1
  plan.reduce_scatter %x to %t {axes = array<i64: 0, 1>, outer = 1, chunk = 16, reduction = 1} : memref<4x4xf32> to memref<4x4xf32>
  // CHECK: plan.all_reduce(%{{.+}}, %{{.+}}) to(%{{.+}}, %{{.+}})
  plan.all_reduce (%t, %x) to (%y, %g) {axes = array<i64: 0>, ledger = #plan.ledger<axes = ["tp"], bytes = 96, tensor = "a, b", overlap = 0.5, whole = 0>} : (memref<4x4xf32>, memref<4x4xf32>) -> (memref<4x4xf32>, memref<4x4xf32>)
  // CHECK: plan.all_to_all
  plan.all_to_all %x to %t {axes = array<i64: 1>, gather_first = true, extents = array<i64: 1, 4, 1, 1, 4>} : memref<4x4xf32> to memref<4x4xf32>
  // CHECK: plan.permute
  plan.permute %x to %t {axes = array<i64: 0>, from = array<i64: 1, 0>} : memref<4x4xf32> to memref<4x4xf32>
  %s = plan.buffer "temporary" : memref<4xf32>
  // CHECK: plan.attention %{{.+}}, %{{.+}}, %{{.+}} to %{{.+}} {causal, scale = 5.000000e-01 : f64
  plan.attention %x, %w, %w to %t {causal, scale = 0.5 : f64, sizes = array<i64: 1, 1, 1, 4, 4, 4, 4>, strides = array<i64: 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4>}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32> to memref<4x4xf32>
  // CHECK: plan.attention %{{.+}}, %{{.+}}, %{{.+}} to %{{.+}} statistic %{{.+}} : memref<4xf32> {
  plan.attention %x, %w, %w to %t statistic %s : memref<4xf32> {scale = 0.5 : f64, sizes = array<i64: 1, 1, 1, 4, 4, 4, 4>, strides = array<i64: 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4>}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32> to memref<4x4xf32>
  // CHECK: plan.attention_gradient %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} to %{{.+}}, %{{.+}}, %{{.+}} {
  plan.attention_gradient %x, %w, %w, %t, %s, %x to %y, %g, %g {scale = 0.5 : f64, sizes = array<i64: 1, 1, 1, 4, 4, 4, 4>, strides = array<i64: 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4>}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4xf32>, memref<4x4xf32> to memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
}
func.func private @k()
