// A GPU's code rounds a program's products and differences one by one (.rn,
// which ptxas does not fuse). The terms of a sum are in any order.
// RUN: tpsp-opt %s --tpsp-pipeline=device=cuda --tpsp-llvm-pipeline | grep -o "\(add\|sub\|mul\|fma\)\(\.rn\)*\.f32" | sort -u | FileCheck %s
// CHECK: add.f32
// CHECK-NEXT: mul.rn.f32
// CHECK-NEXT: sub.rn.f32
// CHECK-NOT: {{.}}

tpsp.program <s = 64, d = 64> {
func @f(%a: [s, d], %b: [s, d], %c: [s, d]) -> ([s, d], [s]) {
  %product = mul %a, %b
  %rest = sub %product, %c
  %r = mul %rest, %a
  %all = reduce %r -> [s]
  return %rest, %all
}
}
