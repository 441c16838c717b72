// Chunks of the backward pass's first product belong to that pass. Otherwise a
// pipeline would run them forward and keep nothing for them.
// RUN: tpsp-opt %s --tpsp-pipeline="grad overlap=on overlap-chunks=2 hardware=h100-sxm" | FileCheck %s
// CHECK: plan.program @f_grad
// CHECK-NOT: plan.reduce_scatter
// CHECK: plan.matmul {{.*}}plan.phase = 1{{.*}}memref<4096xf32>
// CHECK: plan.reduce_scatter
// CHECK-NOT: memref<4096xf32>{{$}}
// CHECK: plan.matmul {{.*}}plan.phase = 1{{.*}}memref<4096xf32>
// CHECK: plan.reduce_scatter

tpsp.program f32 <b = 8, d = 64, e = 128> {
mesh @mesh <fsdp = 4>
func @f(%x: [b@fsdp, d], param %w: [e@fsdp, d]) -> [b@fsdp, e] {
  %y = einsum %w, %x -> [b, e, ?]
  return %y
}
}
