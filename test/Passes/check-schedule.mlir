// A right plan passes and is not changed.
// RUN: tpsp-opt %s --tpsp-check-schedule | FileCheck %s

// CHECK-LABEL: plan.program @reuse
// CHECK-COUNT-3: plan.slice
plan.program @reuse attributes {axes = [], sizes = array<i64>, arena_bytes = 192} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  %y = plan.buffer "output" "y" {number = 0 : i64, offset = 64} : memref<4xf32>
  %a = plan.buffer "temporary" {offset = 128} : memref<4xf32>
  %b = plan.buffer "temporary" {offset = 64} : memref<4xf32>
  plan.slice %x to %b {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
  plan.slice %b to %a {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
  // %b is not read again: the output may take its place.
  plan.slice %a to %y {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
}
