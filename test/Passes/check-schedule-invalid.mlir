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
  // expected-note @+1 {{the other is made here}}
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  // expected-note @+1 {{the buffer is made here}}
  %a = plan.buffer "temporary" {offset = 12} : memref<4xf32>
  // expected-error @+1 {{writes over what it reads itself}}
  plan.slice %x to %a {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
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
  // expected-note @+1 {{the buffer is made here}}
  %w = plan.buffer "parameter" "w" {number = 1 : i64, offset = 64} : memref<4xf32>
  // expected-error @+1 {{writes an argument, 'w'}}
  plan.slice %x to %w {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
}

// -----

plan.program @other_stream attributes {axes = [], sizes = array<i64>, arena_bytes = 128} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  %a = plan.buffer "temporary" {offset = 64} : memref<4xf32>
  // expected-error @+1 {{is on stream 1, but the program has 1}}
  plan.slice %x to %a {axes = array<i64>, outer = 1, chunk = 4, stream = 1} : memref<4xf32> to memref<4xf32>
}

// -----

plan.program @output_missing attributes {axes = [], sizes = array<i64>, arena_bytes = 128} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  // expected-error @+1 {{a buffer is returned before anything has written it}}
  %y = plan.buffer "output" "y" {number = 0 : i64, offset = 64} : memref<4xf32>
}

// -----

plan.program @gradient_overwritten attributes {axes = [], sizes = array<i64>, arena_bytes = 128} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  // expected-error @+1 {{a buffer is returned after another has overwritten it}}
  %g = plan.buffer "gradient" "g" {number = 0 : i64, offset = 64} : memref<4xf32>
  // expected-note @+1 {{the other is made here}}
  %a = plan.buffer "temporary" {offset = 64} : memref<4xf32>
  plan.slice %x to %g {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
  plan.slice %x to %a {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
}

// -----

// Two streams without an event: the gather may not have ended.
plan.program @race attributes {axes = ["tp"], sizes = array<i64: 2>, arena_bytes = 256, streams = 2, events = 1} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  // expected-note @+1 {{the buffer is made here}}
  %a = plan.buffer "temporary" {offset = 64} : memref<8xf32>
  %y = plan.buffer "output" "y" {number = 0 : i64, offset = 128} : memref<8xf32>
  // expected-note @+1 {{the other command is here}}
  plan.all_gather %x to %a {axes = array<i64: 0>, outer = 1, chunk = 4, stream = 1} : memref<4xf32> to memref<8xf32>
  plan.event_record 0 {stream = 1}
  // expected-error @+1 {{may begin before a command has ended that writes what it reads}}
  plan.slice %a to %y {axes = array<i64>, outer = 1, chunk = 8} : memref<8xf32> to memref<8xf32>
}

// -----

// The event was recorded before the gather.
plan.program @early_event attributes {axes = ["tp"], sizes = array<i64: 2>, arena_bytes = 256, streams = 2, events = 1} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  %a = plan.buffer "temporary" {offset = 64} : memref<8xf32> // expected-note {{the buffer is made here}}
  %y = plan.buffer "output" "y" {number = 0 : i64, offset = 128} : memref<8xf32>
  plan.event_record 0 {stream = 1}
  // expected-note @+1 {{the other command is here}}
  plan.all_gather %x to %a {axes = array<i64: 0>, outer = 1, chunk = 4, stream = 1} : memref<4xf32> to memref<8xf32>
  plan.event_wait 0
  // expected-error @+1 {{may begin before a command has ended that writes what it reads}}
  plan.slice %a to %y {axes = array<i64>, outer = 1, chunk = 8} : memref<8xf32> to memref<8xf32>
}

// -----

plan.program @no_record attributes {axes = [], sizes = array<i64>, arena_bytes = 0, streams = 2, events = 1} {
  // expected-error @+1 {{waits for event 0, which nothing has recorded before}}
  plan.event_wait 0
  plan.event_record 0 {stream = 1}
}

// -----

plan.program @no_event attributes {axes = [], sizes = array<i64>, arena_bytes = 0, streams = 2, events = 1} {
  // expected-error @+1 {{is of event 1, but the program has 1}}
  plan.event_record 1
}

// -----

plan.program @recorded_twice attributes {axes = [], sizes = array<i64>, arena_bytes = 0, streams = 2, events = 1} {
  plan.event_record 0 // expected-note {{the other command is here}}
  // expected-error @+1 {{records event 0 again}}
  plan.event_record 0
}

// -----

// The second tensor gets the first one's memory while that is still being sent.
plan.program @memory_too_early attributes {axes = ["tp"], sizes = array<i64: 2>, arena_bytes = 256, streams = 2, events = 1} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  // expected-note @+1 {{the other is made here}}
  %a = plan.buffer "temporary" {offset = 64} : memref<4xf32>
  %y = plan.buffer "output" "y" {number = 0 : i64, offset = 128} : memref<4xf32>
  // expected-note @+1 {{the buffer is made here}}
  %b = plan.buffer "temporary" {offset = 64} : memref<4xf32>
  %z = plan.buffer "output" "z" {number = 1 : i64, offset = 192} : memref<4xf32>
  plan.slice %x to %a {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
  plan.event_record 0
  plan.event_wait 0 {stream = 1}
  // expected-note @+1 {{the other command is here}}
  plan.all_reduce (%a) to (%y) {axes = array<i64: 0>, stream = 1} : (memref<4xf32>) -> memref<4xf32>
  // expected-error @+1 {{may begin before a command has ended that uses the same memory for another buffer}}
  plan.slice %x to %b {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
  plan.slice %b to %z {axes = array<i64>, outer = 1, chunk = 4} : memref<4xf32> to memref<4xf32>
}

// -----

// Rank 0 could start one first and rank 1 the other.
plan.program @two_orders attributes {axes = ["tp"], sizes = array<i64: 2>, arena_bytes = 256, streams = 3, events = 0} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  %y = plan.buffer "output" "y" {number = 0 : i64, offset = 64} : memref<4xf32>
  %z = plan.buffer "output" "z" {number = 1 : i64, offset = 128} : memref<4xf32>
  // expected-note @+1 {{the other command is here}}
  plan.all_reduce (%x) to (%y) {axes = array<i64: 0>, stream = 1} : (memref<4xf32>) -> memref<4xf32>
  // expected-error @+1 {{is not ordered with another collective of the same ranks}}
  plan.all_reduce (%x) to (%z) {axes = array<i64: 0>, stream = 2} : (memref<4xf32>) -> memref<4xf32>
}

// -----

// Half of it is there.
plan.program @one_tile_of_two attributes {axes = [], sizes = array<i64>, arena_bytes = 256} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  // expected-note @+1 {{the buffer is made here}}
  %a = plan.buffer "temporary" {offset = 64} : memref<8xf32>
  %y = plan.buffer "output" "y" {number = 0 : i64, offset = 128} : memref<8xf32>
  %t = plan.tile %a {tiles = 2, chunk = 2, number = 1} : memref<8xf32> to memref<4xf32>
  plan.slice %x to %t {axes = array<i64>, outer = 2, chunk = 2, pitch = 4} : memref<4xf32> to memref<4xf32>
  // expected-error @+1 {{a buffer is read before all of it has been written}}
  plan.slice %a to %y {axes = array<i64>, outer = 1, chunk = 8} : memref<8xf32> to memref<8xf32>
}

// -----

// One part of the other half is missing.
plan.program @one_part_of_two attributes {axes = [], sizes = array<i64>, arena_bytes = 256} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  // expected-note @+1 {{the buffer is made here}}
  %a = plan.buffer "temporary" {offset = 64} : memref<8xf32>
  %y = plan.buffer "output" "y" {number = 0 : i64, offset = 128} : memref<8xf32>
  %t = plan.tile %a {tiles = 2, chunk = 2, number = 0} : memref<8xf32> to memref<4xf32>
  %p = plan.tile %a {tiles = 2, chunk = 2, number = 1, parts = 2, part = 1} : memref<8xf32> to memref<2xf32>
  %q = plan.tile %x {tiles = 1, chunk = 2, number = 0, parts = 2, part = 0} : memref<4xf32> to memref<2xf32>
  plan.slice %x to %t {axes = array<i64>, outer = 2, chunk = 2, pitch = 4} : memref<4xf32> to memref<4xf32>
  plan.slice %q to %p {axes = array<i64>, outer = 2, chunk = 1, pitch = 4} : memref<2xf32> to memref<2xf32>
  // expected-error @+1 {{a buffer is read before all of it has been written}}
  plan.slice %a to %y {axes = array<i64>, outer = 1, chunk = 8} : memref<8xf32> to memref<8xf32>
}

// -----

plan.program @tile_twice attributes {axes = [], sizes = array<i64>, arena_bytes = 256} {
  %x = plan.buffer "input" "x" {number = 0 : i64, offset = 0} : memref<4xf32>
  %a = plan.buffer "temporary" {offset = 64} : memref<8xf32> // expected-note {{the buffer is made here}}
  %t = plan.tile %a {tiles = 2, chunk = 2, number = 1} : memref<8xf32> to memref<4xf32>
  plan.slice %x to %t {axes = array<i64>, outer = 2, chunk = 2, pitch = 4} : memref<4xf32> to memref<4xf32>
  // expected-error @+1 {{writes what has been written to the buffer before}}
  plan.slice %x to %t {axes = array<i64>, outer = 2, chunk = 2, pitch = 4} : memref<4xf32> to memref<4xf32>
}

// -----

plan.program @mixed_tiles attributes {axes = ["tp"], sizes = array<i64: 2>, arena_bytes = 256} {
  %a = plan.buffer "temporary" {offset = 64} : memref<8xf32>
  %t = plan.tile %a {tiles = 2, chunk = 2, number = 1} : memref<8xf32> to memref<4xf32> // expected-note {{the other tile}}
  // expected-error @+1 {{is counted otherwise than another tile of its buffer}}
  %u = plan.tile %a {tiles = 2, chunk = 2, number = 1, axes = array<i64: 0>} : memref<8xf32> to memref<4xf32>
}
