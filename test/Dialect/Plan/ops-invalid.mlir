// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

plan.program @kind attributes {axes = [], sizes = array<i64>} {
  // expected-error @+1 {{there is no "scratch"; kinds are "input", "parameter", "state", "output", "gradient", "choice", "temporary"}}
  %x = plan.buffer "scratch" : memref<4xf32>
}

// -----

plan.program @view attributes {axes = [], sizes = array<i64>} {
  %x = plan.buffer "temporary" : memref<4xf32>
  // expected-error @+1 {{has more bytes than its source}}
  %v = plan.view %x : memref<4xf32> to memref<5xf32>
}

// -----

plan.program @dynamic attributes {axes = [], sizes = array<i64>} {
  // expected-error @+1 {{must be statically shaped memref}}
  %x = plan.buffer "temporary" : memref<?xf32>
}

// -----

plan.program @matmul_with_too_few_numbers attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" : memref<4x4xf32>
  %c = plan.buffer "output" : memref<4x4xf32>
  // expected-error @+1 {{needs three sizes (m, n, k) and three leading dimensions, not 1 and 0}}
  plan.matmul %a, %a, %c {accumulate = array<i64>, batch = array<i64>, leading = array<i64>, sizes = array<i64: 4>} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
}

// -----

plan.program @epilogue_of_an_unknown_step attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" : memref<4x4xf32>
  %v = plan.buffer "input" : memref<4xf32>
  %n = plan.buffer "input" : memref<3xf32>
  %h = plan.buffer "input" : memref<4xbf16>
  %u = plan.buffer "output" : memref<4xf32>
  %c = plan.buffer "output" : memref<4x4xf32>
  // expected-error @+1 {{has the epilogue ["bias", "relu"]; there are [bias] [keep] gelu, bias, slope, sum_a, sum_b and add}}
  plan.matmul %a, %a, %c reads(%v : memref<4xf32>) {epilogue = ["bias", "relu"], sizes = array<i64: 4, 4, 4>, leading = array<i64: 4, 4, 4>, batch = array<i64>, accumulate = array<i64>} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
}

// -----

plan.program @epilogue_in_another_order attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" : memref<4x4xf32>
  %v = plan.buffer "input" : memref<4xf32>
  %n = plan.buffer "input" : memref<3xf32>
  %h = plan.buffer "input" : memref<4xbf16>
  %u = plan.buffer "output" : memref<4xf32>
  %c = plan.buffer "output" : memref<4x4xf32>
  // expected-error @+1 {{has the epilogue ["gelu", "bias"]; there are}}
  plan.matmul %a, %a, %c reads(%v : memref<4xf32>) {epilogue = ["gelu", "bias"], sizes = array<i64: 4, 4, 4>, leading = array<i64: 4, 4, 4>, batch = array<i64>, accumulate = array<i64>} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
}

// -----

plan.program @epilogue_without_its_buffer attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" : memref<4x4xf32>
  %v = plan.buffer "input" : memref<4xf32>
  %n = plan.buffer "input" : memref<3xf32>
  %h = plan.buffer "input" : memref<4xbf16>
  %u = plan.buffer "output" : memref<4xf32>
  %c = plan.buffer "output" : memref<4x4xf32>
  // expected-error @+1 {{has the epilogue ["bias"], which reads 1 and writes 0 buffers, not 0 and 0}}
  plan.matmul %a, %a, %c {epilogue = ["bias"], sizes = array<i64: 4, 4, 4>, leading = array<i64: 4, 4, 4>, batch = array<i64>, accumulate = array<i64>} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
}

// -----

plan.program @epilogue_with_a_short_vector attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" : memref<4x4xf32>
  %v = plan.buffer "input" : memref<4xf32>
  %n = plan.buffer "input" : memref<3xf32>
  %h = plan.buffer "input" : memref<4xbf16>
  %u = plan.buffer "output" : memref<4xf32>
  %c = plan.buffer "output" : memref<4x4xf32>
  // expected-error @+1 {{has a buffer of 'memref<3xf32>' for "bias", which needs 4 elements of 'f32'}}
  plan.matmul %a, %a, %c reads(%n : memref<3xf32>) {epilogue = ["bias"], sizes = array<i64: 4, 4, 4>, leading = array<i64: 4, 4, 4>, batch = array<i64>, accumulate = array<i64>} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
}

// -----

plan.program @epilogue_of_another_type attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" : memref<4x4xf32>
  %v = plan.buffer "input" : memref<4xf32>
  %n = plan.buffer "input" : memref<3xf32>
  %h = plan.buffer "input" : memref<4xbf16>
  %u = plan.buffer "output" : memref<4xf32>
  %c = plan.buffer "output" : memref<4x4xf32>
  // expected-error @+1 {{has a buffer of 'memref<4xbf16>' for "bias", which needs 4 elements of 'f32'}}
  plan.matmul %a, %a, %c reads(%h : memref<4xbf16>) {epilogue = ["bias"], sizes = array<i64: 4, 4, 4>, leading = array<i64: 4, 4, 4>, batch = array<i64>, accumulate = array<i64>} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
}

// -----

plan.program @epilogue_with_a_vector_for_a_matrix attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" : memref<4x4xf32>
  %v = plan.buffer "input" : memref<4xf32>
  %n = plan.buffer "input" : memref<3xf32>
  %h = plan.buffer "input" : memref<4xbf16>
  %u = plan.buffer "output" : memref<4xf32>
  %c = plan.buffer "output" : memref<4x4xf32>
  // expected-error @+1 {{for "slope", which needs 16 elements}}
  plan.matmul %a, %a, %c reads(%v : memref<4xf32>) {epilogue = ["slope"], sizes = array<i64: 4, 4, 4>, leading = array<i64: 4, 4, 4>, batch = array<i64>, accumulate = array<i64>} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
}

// -----

plan.program @sum_beside_a_loop attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" : memref<4x4xf32>
  %v = plan.buffer "input" : memref<4xf32>
  %n = plan.buffer "input" : memref<3xf32>
  %h = plan.buffer "input" : memref<4xbf16>
  %u = plan.buffer "output" : memref<4xf32>
  %c = plan.buffer "output" : memref<4x4xf32>
  // expected-error @+1 {{sums an operand beside loops; it must be a single product}}
  plan.matmul %a, %a, %c writes(%u : memref<4xf32>) {epilogue = ["sum_a"], sizes = array<i64: 4, 4, 4>, leading = array<i64: 4, 4, 4>, batch = array<i64: 2, 0, 0, 8>, accumulate = array<i64>} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
}

// -----

plan.program @operand_that_is_no_buffer attributes {axes = [], sizes = array<i64>} {
  %a = memref.alloc() : memref<4xf32>
  %c = plan.buffer "output" : memref<4xf32>
  // expected-error @+1 {{operand #0 is neither a plan.buffer nor a view of one}}
  plan.slice %a to %c {axes = array<i64>, chunk = 4 : i64, outer = 1 : i64} : memref<4xf32> to memref<4xf32>
}

// -----

plan.program @tile_of_a_tile attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" : memref<8xf32>
  %t = plan.tile %a {tiles = 2, chunk = 2, number = 0} : memref<8xf32> to memref<4xf32>
  // expected-error @+1 {{is of a tile; tiles are of whole buffers}}
  %u = plan.tile %t {tiles = 2, chunk = 2, number = 0} : memref<4xf32> to memref<2xf32>
}

// -----

plan.program @tiles_that_do_not_divide attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" : memref<8xf32>
  // expected-error @+1 {{cuts 8 elements into 3 tiles with runs of 1, which do not divide them}}
  %t = plan.tile %a {tiles = 3, chunk = 1, number = 0} : memref<8xf32> to memref<2xf32>
}

// -----

plan.program @tile_beyond_the_last attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" : memref<8xf32>
  // expected-error @+1 {{is number 2 of 2 tiles}}
  %t = plan.tile %a {tiles = 2, chunk = 4, number = 2} : memref<8xf32> to memref<4xf32>
}

// -----

plan.program @parts_that_do_not_divide attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" : memref<8xf32>
  // expected-error @+1 {{cuts runs of 4 elements into 3 parts, which does not divide them}}
  %t = plan.tile %a {tiles = 2, chunk = 4, number = 0, parts = 3} : memref<8xf32> to memref<1xf32>
}

// -----

plan.program @part_beyond_the_last attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" : memref<8xf32>
  // expected-error @+1 {{is part 2 of 2 parts}}
  %t = plan.tile %a {tiles = 2, chunk = 4, number = 0, parts = 2, part = 2} : memref<8xf32> to memref<2xf32>
}

// -----

plan.program @part_as_large_as_its_tile attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "input" : memref<8xf32>
  // expected-error @+1 {{has 4 elements, not 2}}
  %t = plan.tile %a {tiles = 2, chunk = 4, number = 0, parts = 2} : memref<8xf32> to memref<4xf32>
}

// -----

plan.program @short_position attributes {axes = ["tp"], sizes = array<i64: 2>} {
  %x = plan.buffer "temporary" : memref<4xf32>
  %y = plan.buffer "temporary" : memref<4xf32>
  // expected-error @+1 {{needs positions of [stride, shift, offset, batch stride, axes...], not array<i64: 4>}}
  plan.kernel @k(%x) to(%y) {grid = 4 : i64, positions = [array<i64: 4>]} : (memref<4xf32>) -> memref<4xf32>
}

// -----

plan.program @attention_of_too_few_numbers attributes {axes = [], sizes = array<i64>} {
  %q = plan.buffer "temporary" : memref<2x4xf32>
  %k = plan.buffer "temporary" : memref<6x4xf32>
  %s = plan.buffer "temporary" : memref<2xf32>
  // expected-error @+1 {{needs seven sizes and sixteen strides, not 6 and 16}}
  plan.attention %q, %k, %k to %q statistic %s : memref<2xf32> {scale = 1.0 : f64, sizes = array<i64: 1, 1, 1, 2, 6, 4>, strides = array<i64: 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4>}
    : memref<2x4xf32>, memref<6x4xf32>, memref<6x4xf32> to memref<2x4xf32>
}

// -----

plan.program @attention_of_overlapping_rows attributes {axes = [], sizes = array<i64>} {
  %q = plan.buffer "temporary" : memref<2x4xf32>
  %k = plan.buffer "temporary" : memref<6x4xf32>
  %s = plan.buffer "temporary" : memref<2xf32>
  // expected-error @+1 {{has sizes and strides of no dense tensors}}
  plan.attention %q, %k, %k to %q statistic %s : memref<2xf32> {scale = 1.0 : f64, sizes = array<i64: 1, 1, 1, 2, 6, 4, 4>, strides = array<i64: 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4>}
    : memref<2x4xf32>, memref<6x4xf32>, memref<6x4xf32> to memref<2x4xf32>
}

// -----

plan.program @attention_of_other_buffers attributes {axes = [], sizes = array<i64>} {
  %q = plan.buffer "temporary" : memref<2x4xf32>
  %k = plan.buffer "temporary" : memref<6x4xf32>
  %s = plan.buffer "temporary" : memref<2xf32>
  // expected-error @+1 {{has a buffer of 'memref<6x4xf32>' where its sizes make 20 elements of 'f32'}}
  plan.attention %q, %k, %k to %q statistic %s : memref<2xf32> {scale = 1.0 : f64, sizes = array<i64: 1, 1, 1, 2, 5, 4, 4>, strides = array<i64: 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4>}
    : memref<2x4xf32>, memref<6x4xf32>, memref<6x4xf32> to memref<2x4xf32>
}

// -----

plan.program @attention_with_a_narrow_statistic attributes {axes = [], sizes = array<i64>} {
  %q = plan.buffer "temporary" : memref<2x4xf32>
  %k = plan.buffer "temporary" : memref<6x4xf32>
  %s = plan.buffer "temporary" : memref<2xbf16>
  // expected-error @+1 {{has a statistic of 'memref<2xbf16>' for 2 rows}}
  plan.attention %q, %k, %k to %q statistic %s : memref<2xbf16> {scale = 1.0 : f64, sizes = array<i64: 1, 1, 1, 2, 6, 4, 4>, strides = array<i64: 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4>}
    : memref<2x4xf32>, memref<6x4xf32>, memref<6x4xf32> to memref<2x4xf32>
}

// -----

plan.program @attention_from_nowhere attributes {axes = ["cp"], sizes = array<i64: 3>} {
  %q = plan.buffer "temporary" : memref<2x4xf32>
  %k = plan.buffer "temporary" : memref<6x4xf32>
  // expected-error @+1 {{needs positions of [stride, shift, offset, batch stride, axes...], not array<i64: 2, 0>}}
  plan.attention %q, %k, %k to %q {causal, query_start = array<i64: 2, 0>, scale = 1.0 : f64, sizes = array<i64: 1, 1, 1, 2, 6, 4, 4>, strides = array<i64: 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4>}
    : memref<2x4xf32>, memref<6x4xf32>, memref<6x4xf32> to memref<2x4xf32>
}

// -----

plan.program @attention_from_somewhere_without_a_mask attributes {axes = ["cp"], sizes = array<i64: 3>} {
  %q = plan.buffer "temporary" : memref<2x4xf32>
  %k = plan.buffer "temporary" : memref<6x4xf32>
  // expected-error @+1 {{says where queries start without a causal mask}}
  plan.attention %q, %k, %k to %q {query_start = array<i64: 2, 0, 0, 0, 0>, scale = 1.0 : f64, sizes = array<i64: 1, 1, 1, 2, 6, 4, 4>, strides = array<i64: 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4>}
    : memref<2x4xf32>, memref<6x4xf32>, memref<6x4xf32> to memref<2x4xf32>
}

// -----

plan.program @gather_of_unnamed_layouts attributes {axes = ["tp"], sizes = array<i64: 2>} {
  %x = plan.buffer "temporary" : memref<4xf32>
  %y = plan.buffer "temporary" : memref<8xf32>
  // expected-error @+1 {{has outer, chunk and pitch of 1 tensors in `others`, not 0 numbers}}
  plan.all_gather %x, %x to %y, %y {axes = array<i64: 0>, outer = 1, chunk = 4} : memref<4xf32>, memref<4xf32> to memref<8xf32>, memref<8xf32>
}

// -----

plan.program @scatter_to_too_few attributes {axes = ["tp"], sizes = array<i64: 2>} {
  %x = plan.buffer "temporary" : memref<4xf32>
  %y = plan.buffer "temporary" : memref<8xf32>
  // expected-error @+1 {{has one target for each of its sources, not 1 for 2}}
  plan.reduce_scatter %y, %y to %x {axes = array<i64: 0>, outer = 1, chunk = 4, others = array<i64: 1, 4, 0>} : memref<8xf32>, memref<8xf32> to memref<4xf32>
}

// -----

plan.program @gather_of_several_types attributes {axes = ["tp"], sizes = array<i64: 2>} {
  %x = plan.buffer "temporary" : memref<4xf32>
  %h = plan.buffer "temporary" : memref<4xbf16>
  %y = plan.buffer "temporary" : memref<8xf32>
  %z = plan.buffer "temporary" : memref<8xbf16>
  // expected-error @+1 {{moves tensors of one element type, not 'bf16' with 'f32'}}
  plan.all_gather %x, %h to %y, %z {axes = array<i64: 0>, outer = 1, chunk = 4, others = array<i64: 1, 4, 0>} : memref<4xf32>, memref<4xbf16> to memref<8xf32>, memref<8xbf16>
}

// -----

// There must be as many strides of integers as loops.
plan.program @grouped_matmul_with_too_few_strides attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "temporary" : memref<4x4xf32>
  %i = plan.buffer "temporary" : memref<4xi32>
  %c = plan.buffer "temporary" : memref<4x4xf32>
  // expected-error @+1 {{needs a stride of the integers along each of 1 loops, not 0}}
  plan.grouped_matmul %a, %a by %i to %c {sizes = array<i64: 2, 4, 4>, leading = array<i64: 4, 4, 4>, batch = array<i64: 2, 8, 0, 8>, accumulate = array<i64>, groups = 1 : i64, group_stride = 16 : i64, id_strides = array<i64>} : memref<4x4xf32>, memref<4x4xf32> by memref<4xi32> to memref<4x4xf32>
}

// -----

// All matrices must be in the buffer.
plan.program @grouped_matmul_of_missing_matrices attributes {axes = [], sizes = array<i64>} {
  %a = plan.buffer "temporary" : memref<4x4xf32>
  %i = plan.buffer "temporary" : memref<4xi32>
  %c = plan.buffer "temporary" : memref<4x4xf32>
  // expected-error @+1 {{has B of 'memref<4x4xf32>' where its numbers make 48 elements}}
  plan.grouped_matmul %a, %a by %i to %c {sizes = array<i64: 4, 4, 4>, leading = array<i64: 4, 4, 4>, batch = array<i64>, accumulate = array<i64>, groups = 3 : i64, group_stride = 16 : i64, id_strides = array<i64>} : memref<4x4xf32>, memref<4x4xf32> by memref<4xi32> to memref<4x4xf32>
}
