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
