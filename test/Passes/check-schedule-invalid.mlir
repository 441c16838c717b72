// RUN: tpsp-opt %s --tpsp-check-schedule --split-input-file --verify-diagnostics

plan.program @read_before_written attributes {axes = [], sizes = array<i64>, arena_bytes = 192} {
  // expected-note @+1 {{the buffer is made here}}
  %a = plan.buffer "temporary" {offset = 0} : memref<4xf32>
  %b = plan.buffer "temporary" {offset = 64} : memref<4xf32>
  // expected-error @+1 {{a buffer is read before anything has written it}}
  plan.slice %a to %b {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
}

// -----

plan.program @read_through_a_view attributes {axes = [], sizes = array<i64>, arena_bytes = 192} {
  // expected-note @+1 {{the buffer is made here}}
  %a = plan.buffer "temporary" {offset = 0} : memref<4xf32>
  %v = plan.view %a : memref<4xf32> to memref<2x2xf32>
  %b = plan.buffer "temporary" {offset = 64} : memref<2x2xf32>
  // expected-error @+1 {{a buffer is read before anything has written it}}
  plan.slice %v to %b {axes = array<i64>, outer = 1, chunk = 4} : memref<2x2xf32> to memref<2x2xf32>
}

// -----

plan.program @overwritten attributes {axes = [], sizes = array<i64>, arena_bytes = 192} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  // expected-note @+1 {{the buffer is made here}}
  %a = plan.buffer "temporary" {offset = 64} : memref<4xf32>
  // expected-note @+1 {{the other is made here}}
  %b = plan.buffer "temporary" {offset = 64} : memref<4xf32>
  plan.slice %x to %a {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
  plan.slice %x to %b {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
  // expected-error @+1 {{a buffer is read after another has overwritten it}}
  plan.slice %a to %b {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
}

// -----

// Four bytes in common are enough, from either side.
plan.program @overlap_by_an_element attributes {axes = [], sizes = array<i64>, arena_bytes = 192} {
  // expected-note @+1 {{the buffer is made here}}
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  // expected-note @+1 {{the other is made here}}
  %a = plan.buffer "temporary" {offset = 12} : memref<4xf32>
  %b = plan.buffer "temporary" {offset = 64} : memref<4xf32>
  plan.slice %x to %a {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
  // expected-error @+1 {{a buffer is read after another has overwritten it}}
  plan.slice %x to %b {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
}

// -----

// A long range over two short ones.
plan.program @overlap_of_several attributes {axes = [], sizes = array<i64>, arena_bytes = 256} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  %a = plan.buffer "temporary" {offset = 64} : memref<4xf32>
  // expected-note @+1 {{the buffer is made here}}
  %b = plan.buffer "temporary" {offset = 80} : memref<4xf32>
  // expected-note @+1 {{the other is made here}}
  %c = plan.buffer "temporary" {offset = 64} : memref<16xf32>
  %d = plan.buffer "temporary" {offset = 128} : memref<4xf32>
  plan.slice %x to %a {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
  plan.slice %x to %b {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
  plan.slice %x to %c {axes = array<i64>, outer = 1, chunk = 16} : memref<4xf32> to memref<16xf32>
  // expected-error @+1 {{a buffer is read after another has overwritten it}}
  plan.slice %b to %d {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
}

// -----

plan.program @outside attributes {axes = [], sizes = array<i64>, arena_bytes = 64} {
  // expected-error @+1 {{lies outside the arena of 64 bytes: [60, 76)}}
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 60} : memref<4xf32>
}

// -----

plan.program @below attributes {axes = [], sizes = array<i64>, arena_bytes = 64} {
  // expected-error @+1 {{lies outside the arena of 64 bytes: [-16, 0)}}
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = -16} : memref<4xf32>
}

// -----

// expected-error @+1 {{has no arena yet; run tpsp-allocate first}}
plan.program @no_arena attributes {axes = [], sizes = array<i64>} {
}

// -----

plan.program @no_offset attributes {axes = [], sizes = array<i64>, arena_bytes = 64} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  // expected-error @+1 {{has no offset; run tpsp-allocate first}}
  %a = plan.buffer "temporary" : memref<4xf32>
  plan.slice %x to %a {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
}

// -----

plan.program @writes_an_input attributes {axes = [], sizes = array<i64>, arena_bytes = 128} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  %w = plan.buffer "parameter" "w" {number = 1 : i64, offset = 64} : memref<4xf32>
  // expected-error @+1 {{writes an argument, 'w'}}
  plan.slice %x to %w {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
}

// -----

plan.program @other_stream attributes {axes = [], sizes = array<i64>, arena_bytes = 128} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  %a = plan.buffer "temporary" {offset = 64} : memref<4xf32>
  // expected-error @+1 {{is on stream 1, but one-stream plans are all that can be checked so far}}
  plan.slice %x to %a {axes = array<i64>, outer = 1, chunk = 4, stream = 1} : memref<4xf32> to memref<4xf32>
}

// -----

plan.program @output_missing attributes {axes = [], sizes = array<i64>, arena_bytes = 128} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  // expected-error @+1 {{a buffer is returned before anything has written it}}
  %y = plan.buffer "output" "y" {number = 0 : i64, offset = 64} : memref<4xf32> // expected-note {{the buffer is made here}}
}

// -----

plan.program @gradient_overwritten attributes {axes = [], sizes = array<i64>, arena_bytes = 128} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  // expected-error @+1 {{a buffer is returned after another has overwritten it}}
  %g = plan.buffer "gradient" "g" {number = 0 : i64, offset = 64} : memref<4xf32> // expected-note {{the buffer is made here}}
  // expected-note @+1 {{the other is made here}}
  %a = plan.buffer "temporary" {offset = 64} : memref<4xf32>
  plan.slice %x to %g {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
  plan.slice %x to %a {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
}
