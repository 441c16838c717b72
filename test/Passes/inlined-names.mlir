// Values of an inlined call are named after the call and their own names. Parts
// of a composite are named after it and their kind.
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
// CHECK-NEXT: z.o.einsum[s, t] = z.y[s, d] · z.k[t, d]
// CHECK-NEXT: z.o.softmax[s, t] = softmax(z.o.einsum[s, t]
// CHECK-NEXT: z.o[s, d] = z.o.softmax[s, t] · z.k[t, d]
// CHECK: backward
// CHECK: g[z.o.einsum][s, t] = softmax'(g[z.o.softmax][s, t], z.o.softmax[s, t])
// CHECK: g[x][s, d] = tanh'(g[z.y][s, d], x[s, d])
// PARTS: tpsp.einsum {{.*}}tpsp.recompute{{.*}} loc(callsite("o.einsum"("{{.*}}inlined-names.mlir":11:{{[0-9]+}}) at "z"(
// PARTS: tpsp.einsum {{.*}} loc(callsite("o"("{{.*}}inlined-names.mlir":11:{{[0-9]+}}) at "z"(
func.func @model(%x: !x {tpsp.name = "x"}) -> !x {
  %z = call @layer(%x) : (!x) -> !x
  return %z : !x
}
