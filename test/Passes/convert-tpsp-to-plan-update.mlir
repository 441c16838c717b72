// A parameter's update is one kernel that changes its state in place. That also
// holds for the first, which begins before the numbers for all parameters are
// known: the corrections of AdamW's means.
// RUN: tpsp-opt %s --tpsp-pipeline="grad=true optimizer=adamw" | FileCheck %s

tpsp.program bf16 <b = 8, d = 64, e = 128> {
mesh @mesh <dp = 2 : data>

func @model(%x: [b@dp, d], param %w: [e, d], param %u: [d, e]) -> [] {
  %h = einsum %w, %x -> [b@dp, e]
  %g = silu %h
  %y = einsum %u, %g -> [b@dp, d]
  %loss = mean %y -> []
  return %loss
}
}

// CHECK: plan.program @model_grad
// CHECK-DAG: [[W:%[0-9]+]] = plan.buffer "parameter" "w"
// CHECK-DAG: [[WSTATE:%[0-9]+]] = plan.buffer "state" "mean[w]"
// CHECK-DAG: [[U:%[0-9]+]] = plan.buffer "parameter" "u"
// CHECK-DAG: [[USTATE:%[0-9]+]] = plan.buffer "state" "mean[u]"
// CHECK-NOT: plan.slice
// CHECK: plan.kernel {{.*}} to([[W]]) updates([[WSTATE]], {{.*}} memref<128x64xf32>, memref<128x64xf32>, memref<128x64xf32>
// CHECK-NOT: plan.slice
// CHECK: plan.kernel {{.*}} to([[U]]) updates([[USTATE]], {{.*}} memref<64x128xf32>, memref<64x128xf32>, memref<64x128xf32>
// CHECK-NOT: plan.slice
