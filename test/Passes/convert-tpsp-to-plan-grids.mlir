// On GPUs, which `kept-bytes` stands for, blocks are work items. A tensor does
// not join operations whose grid is small if it has a large one alone.
// RUN: tpsp-opt %s --split-input-file --convert-tpsp-to-plan="kept-bytes=101376" | FileCheck %s --check-prefix=GPU
// RUN: tpsp-opt %s --split-input-file --convert-tpsp-to-plan | FileCheck %s --check-prefix=CPU

!b = tensor<12x64xf32, #tpsp.idx<h, k, local>>
!w = tensor<32x12x64xf32, #tpsp.idx<d, h, k, local>>

// CPU-LABEL: plan.program @unrelated
// CPU: plan.kernel {{.*}} {grid = 12
// CPU-NOT: plan.kernel
// GPU-LABEL: plan.program @unrelated
// GPU: plan.kernel {{.*}} {grid = 12
// GPU: plan.kernel {{.*}} {grid = 384
func.func @unrelated(%b: !b, %w: !w) -> (!b, !w) {
  %c = tpsp.tanh %b : !b
  %d = tpsp.tanh %w : !w
  return %c, %d : !b, !w
}

// -----

!b = tensor<12x64xf32, #tpsp.idx<h, k, local>>
!w = tensor<32x12x64xf32, #tpsp.idx<d, h, k, local>>

// Not if they share a tensor, which would be read twice.
// CPU-LABEL: plan.program @related
// GPU-LABEL: plan.program @related
// GPU: plan.kernel {{.*}} {grid = 12
// GPU-NOT: plan.kernel
func.func @related(%b: !b, %w: !w) -> (!b, !w) {
  %c = tpsp.tanh %b : !b
  %d = tpsp.add %w, %c : (!w, !b) -> !w
  return %c, %d : !b, !w
}
