// A parameter that is split in one place and whole in another has a gradient of
// two summands. Each is converted where it is made, and the other may come
// later. Their sum comes after both.
// RUN: tpsp-opt %s --tpsp-propagate --tpsp-differentiate=reduce-dtype=f32 | FileCheck %s

// CHECK-LABEL: @f_grad
// CHECK: %[[WHOLE:.*]] = tpsp.add %{{.*}} : tensor<32x16xbf16, {{.*}} -> tensor<32x16xf32,
// CHECK: %[[SPLIT:.*]] = tpsp.add %{{.*}} : tensor<4x8x16xbf16, {{.*}} -> tensor<4x8x16xf32,
// CHECK: %[[MERGED:.*]] = tpsp.merge %[[SPLIT]]
// CHECK: %[[SUM:.*]] = tpsp.add %[[WHOLE]], %[[MERGED]]
// CHECK: return %{{.*}}, %{{.*}}, %[[SUM]]
tpsp.program bf16 <b = 4, d = 16, q = 32, h = 4, k = 8> {
func @f(%x: [b, d], param %w: [q, d]) -> [b, d] {
  %w_h = split %w -> [h, k, d, ?]
  %y = einsum %w_h, %x -> [b, h, k, ?]
  %m = merge %y -> [b, q, ?]
  %z = einsum %w, %m -> [b, d]
  return %z
}
}
