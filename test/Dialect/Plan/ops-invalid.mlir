// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

plan.program @kind attributes {axes = [], sizes = array<i64>} {
  // expected-error @+1 {{has the unknown kind "scratch"}}
  %x = plan.buffer "scratch" : memref<4xf32>
}

// -----

plan.program @view attributes {axes = [], sizes = array<i64>} {
  %x = plan.buffer "temporary" : memref<4xf32>
  // expected-error @+1 {{changes the number of bytes}}
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

plan.program @operand_that_is_no_buffer attributes {axes = [], sizes = array<i64>} {
  %a = memref.alloc() : memref<4xf32>
  %c = plan.buffer "output" : memref<4xf32>
  // expected-error @+1 {{operand #0 is neither a plan.buffer nor a view of one}}
  plan.slice %a to %c {axes = array<i64>, chunk = 4 : i64, outer = 1 : i64} : memref<4xf32> to memref<4xf32>
}
