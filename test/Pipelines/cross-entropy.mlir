// The loss of a model with a large vocabulary: few kernels, logits only in
// their own precision, and no other tensor of their size.
// RUN: tpsp-run %s --grad --backend trace 2>&1 | FileCheck %s
// RUN: tpsp-opt %s --tpsp-explain=grad | FileCheck %s --check-prefix=SAVED
// RUN: tpsp-run %s --grad --extent s=3 --verify | FileCheck %s --check-prefix=VERIFIED
// RUN: tpsp-run %s --grad --extent s=3 --mesh tp=2 --verify | FileCheck %s --check-prefix=VERIFIED
// RUN: tpsp-run %s --grad --simulate --hardware h100-sxm --quiet --report %t.json
// RUN: FileCheck %s --check-prefix=BYTES < %t.json

//      CHECK: matmul m=24 n=131074 k=8
// CHECK-NEXT: kernel grid=24 {{.*}}one_hot_einsum
// CHECK-NEXT: kernel grid=24 {{.*}}convert_reduce_sub_exp
//  CHECK-NOT: grid=24
//      CHECK: kernel grid=24 {{.*}}broadcast
//  CHECK-NOT: kernel
//      CHECK: matmul m=131074

// SAVED-LABEL: saved for the backward pass
//   SAVED-NOT: sub
//       SAVED: logits[b, s, v@tp]
//  SAVED-NEXT: each.reduce[b, s]
//  SAVED-NEXT: each.reduce2[b, s]
//  SAVED-NEXT: total

// VERIFIED: all within tolerance

// 24 x 131074 logits and their gradient, of 2 bytes each.
// BYTES: "activations": 12{{[0-9]{6},}}

tpsp.program bf16 <b = 2, s = 12, d = 8, v = 131074> {
mesh @mesh <tp = 1 : model>
func @main(%x: [b, s, d], param %w: [v@tp, d], %t: i32 [b, s]) -> f32 [] {
  %logits = einsum %w, %x -> [b, s, v, ?]
  %l = convert %logits -> f32[b, s, v, ?]
  %each = cross_entropy %l, %t {over = "v"} -> f32[b, s, ?]
  %m = mean %each -> f32[]
  return %m
}
}
