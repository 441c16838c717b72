// What shares a kernel, by the option `fuse`: a norm, and three element-by-element
// operations.
// RUN: tpsp-opt %s --tpsp-pipeline=fuse=all | FileCheck %s --check-prefix=ALL
// RUN: tpsp-opt %s --tpsp-pipeline=fuse=pointwise | FileCheck %s --check-prefix=POINTWISE
// RUN: tpsp-opt %s --tpsp-pipeline=fuse=operations | FileCheck %s --check-prefix=OPERATIONS
// RUN: tpsp-opt %s --tpsp-pipeline=fuse=none | FileCheck %s --check-prefix=NONE
// RUN: not tpsp-opt %s --tpsp-pipeline=fuse=some 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: no fuse is called 'some': all, pointwise, operations or none

// ALL-LABEL: plan.program @block
// ALL-COUNT-1: plan.kernel
// ALL-NOT: plan.kernel

// The norm is a kernel.
// POINTWISE-LABEL: plan.program @block
// POINTWISE-COUNT-2: plan.kernel
// POINTWISE-NOT: plan.kernel

// OPERATIONS-LABEL: plan.program @block
// OPERATIONS-COUNT-4: plan.kernel
// OPERATIONS-NOT: plan.kernel

// The norm is seven kernels.
// NONE-LABEL: plan.program @block
// NONE-COUNT-10: plan.kernel
// NONE-NOT: plan.kernel
tpsp.program <s = 6, d = 5> {
func @block(%x: [s, d], %u: [s, d], param %w: [d]) -> [s, d] {
  %normed = rms_norm %x, %w {eps = 1e-05}
  %activated = silu %normed
  %hidden = mul %activated, %u
  %y = add %hidden, %x
  return %y
}
}
