// Values of a function that is called twice are named after the calls. Inner
// values of an adjoint are named after its operation, or after their sum.
// RUN: tpsp-opt %s --tpsp-explain="every-layer parts" -o /dev/null | FileCheck %s

!x = tensor<4x8xf32, #tpsp.idx<s, d>>
!w = tensor<8x8xf32, #tpsp.idx<d, d2>>
!y = tensor<4x8xf32, #tpsp.idx<s, d2>>

func.func private @half(%x: !x, %w: !w) -> !x {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !y
  %v = tpsp.gelu %y : !y
  %z = tpsp.rename %v : !y -> !x
  return %z : !x
}

// CHECK: forward
// CHECK-NEXT: {{^}}  one.y[s, d2] = w[d, d2] · x[s, d]
// CHECK-NEXT: {{^}}  one.v[s, d2] = gelu(one.y[s, d2])
// CHECK-NEXT: {{^}}  one.z[s, d] = rename(one.v[s, d2])
// CHECK-NEXT: {{^}}  two.y[s, d2] = w[d, d2] · one.z[s, d]
// CHECK-NEXT: {{^}}  two.v[s, d2] = gelu(two.y[s, d2])
// CHECK-NEXT: {{^}}  two.z[s, d] = rename(two.v[s, d2])
// CHECK: backward
// CHECK: {{^}}  g[two.v][s, d2] = rename(g[two.z][s, d])
// CHECK-NEXT: {{^}}  two.v'.slope[s, d2] = slope(two.y[s, d2], of=gelu)
// CHECK-NEXT: {{^}}  g[two.y][s, d2] = mul(g[two.v][s, d2], two.v'.slope[s, d2])
// CHECK-NEXT: {{^}}  g[w].two.y[d, d2] = g[two.y][s, d2] · one.z[s, d]
// CHECK: {{^}}  g[w][d, d2] = g[w].two.y[d, d2] + g[w].one.y[d, d2]
func.func @model(%x: !x, %w: !w) -> !x {
  %one = call @half(%x, %w) : (!x, !w) -> !x
  %two = call @half(%one, %w) : (!x, !w) -> !x
  return %two : !x
}
