// Inside of an inlined call values are called after it and their own names; an
// adjoint or a part of a composite has no name.
// RUN: tpsp-opt %s --tpsp-explain -o /dev/null | FileCheck %s
// RUN: tpsp-opt %s --tpsp-name-values --inline --tpsp-decompose-early --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=PARTS

!x = tensor<8x16xf32, #tpsp.idx<s, d>>
!t = tensor<8x16xf32, #tpsp.idx<t, d>>
func.func private @layer(%x: !x) -> !x {
  %y = tpsp.tanh %x : !x
  %k = tpsp.rename %y : !x -> !t
  %o = tpsp.attention %y, %k, %k {query = "s", key = "t", feature = "d"} : (!x, !t, !t) -> !x
  return %o : !x
}
// CHECK: forward
// CHECK-NEXT: z.y[s, d] = tanh(x[s, d])
// CHECK-NEXT: z.k[t, d] = rename(z.y[s, d])
// CHECK-NEXT: t0[s, t] = z.y[s, d] · z.k[t, d]
// CHECK-NEXT: t1[s, t] = softmax(t0[s, t]
// CHECK-NEXT: z.o[s, d] = t1[s, t] · z.k[t, d]
// CHECK: backward
// CHECK: [[SLOPE:t[0-9]+]][s, d] = slope(x[s, d], of=tanh)
// CHECK-NEXT: g[x][s, d] = mul(g[z.y][s, d], [[SLOPE]][s, d])
// PARTS: tpsp.einsum {{.*}}tpsp.recompute{{.*}} loc(callsite("{{.*}}inlined-names.mlir":11:{{[0-9]+}} at "z"(
// PARTS: tpsp.einsum {{.*}} loc(callsite("o"("{{.*}}inlined-names.mlir":11:{{[0-9]+}}) at "z"(
func.func @model(%x: !x {tpsp.name = "x"}) -> !x {
  %z = call @layer(%x) : (!x) -> !x
  return %z : !x
}
