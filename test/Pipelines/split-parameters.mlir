// A parameter that a view splits into heads is gathered on a data axis, and the
// activation stays. The activation has no index of a parameter as it is written.
// RUN: tpsp-opt %s --tpsp-explain | FileCheck %s
// CHECK: y[b@dp, s, d] = v[d@dp, p, q] · a[b@dp, s, p, q]
// CHECK-NEXT: > all_gather v[d@dp, p, q] -> [d, p, q]
// CHECK-NOT: {{all_gather|all_to_all}} a[

tpsp.program <b = 16, s = 32, d = 64, e = 128, p = 16, q = 8> {
mesh @mesh <dp = 2 : data>

func @f(%x: [b@dp, s, p, q], param %w: [d@dp, e]) -> [] {
  %a = silu %x
  %v = split %w -> [d, p, q, ?]
  %y = einsum %v, %a -> [b, s, d, ?]
  %l = square %y
  %m = mean %l -> []
  return %m
}
}
