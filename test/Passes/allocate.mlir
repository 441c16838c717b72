// RUN: tpsp-opt %s --tpsp-allocate | FileCheck %s
// Decisions of an earlier run are dropped.
// RUN: tpsp-opt %s --tpsp-allocate --tpsp-allocate | FileCheck %s
// RUN: tpsp-opt %s --tpsp-allocate --tpsp-check-schedule -o /dev/null

// Buffers that last the whole step come first, in order, and are never shared.
// A temporary takes the place of another after that one's last read. Every
// buffer starts on a cache line.
// CHECK-LABEL: plan.program @chain attributes {arena_bytes = 320 : i64
// CHECK: plan.buffer "input" {{.*}}offset = 0 : i64
// CHECK: plan.buffer "temporary" {offset = 192 : i64}
// CHECK: plan.buffer "temporary" {offset = 256 : i64}
// CHECK: plan.buffer "temporary" {offset = 192 : i64}
// CHECK: plan.buffer "gradient" {{.*}}offset = 64 : i64
// CHECK: plan.buffer "output" {{.*}}offset = 128 : i64
plan.program @chain attributes {axes = [], sizes = array<i64>} {
  %x = plan.buffer "input" "x" {number = 0 : i64} : memref<3xf32>
  %a = plan.buffer "temporary" : memref<4xf32>
  %b = plan.buffer "temporary" : memref<16xf32>
  %c = plan.buffer "temporary" : memref<16xf32>
  %g = plan.buffer "gradient" "g" {number = 1 : i64} : memref<3xf32>
  %y = plan.buffer "output" "y" {number = 0 : i64} : memref<3xf32>
  plan.kernel @k(%x) to(%a) {grid = 1 : i64, positions = []} : (memref<3xf32>) -> memref<4xf32>
  plan.kernel @k(%a) to(%b) {grid = 1 : i64, positions = []} : (memref<4xf32>) -> memref<16xf32>
  plan.kernel @k(%b) to(%c) {grid = 1 : i64, positions = []} : (memref<16xf32>) -> memref<16xf32>
  plan.kernel @k(%c) to(%y, %g) {grid = 1 : i64, positions = []} : (memref<16xf32>) -> (memref<3xf32>, memref<3xf32>)
}

// A view keeps its buffer alive: %b must not take %a's place.
// CHECK-LABEL: plan.program @view
// CHECK: plan.buffer "temporary" {offset = 128 : i64}
// CHECK: plan.buffer "temporary" {offset = 192 : i64}
plan.program @view attributes {axes = [], sizes = array<i64>} {
  %x = plan.buffer "input" "x" {number = 0 : i64} : memref<4xf32>
  %y = plan.buffer "output" "y" {number = 0 : i64} : memref<4xf32>
  %a = plan.buffer "temporary" : memref<4xf32>
  %b = plan.buffer "temporary" : memref<4xf32>
  plan.kernel @k(%x) to(%a) {grid = 1 : i64, positions = []} : (memref<4xf32>) -> memref<4xf32>
  %v = plan.view %a : memref<4xf32> to memref<2x2xf32>
  plan.kernel @k(%x) to(%b) {grid = 1 : i64, positions = []} : (memref<4xf32>) -> memref<4xf32>
  plan.kernel @k(%b, %v) to(%y) {grid = 1 : i64, positions = []} : (memref<4xf32>, memref<2x2xf32>) -> memref<4xf32>
}

// A buffer that nothing reads is free again after its command.
// CHECK-LABEL: plan.program @unread attributes {arena_bytes = 128 : i64
// CHECK: plan.buffer "temporary" {offset = 64 : i64}
// CHECK: plan.buffer "temporary" {offset = 64 : i64}
plan.program @unread attributes {axes = [], sizes = array<i64>} {
  %x = plan.buffer "input" "x" {number = 0 : i64} : memref<4xf32>
  %a = plan.buffer "temporary" : memref<4xf32>
  %b = plan.buffer "temporary" : memref<4xf32>
  plan.kernel @k(%x) to(%a) {grid = 1 : i64, positions = []} : (memref<4xf32>) -> memref<4xf32>
  plan.kernel @k(%x) to(%b) {grid = 1 : i64, positions = []} : (memref<4xf32>) -> memref<4xf32>
}
func.func private @k()
