// Equal layers are written once, with the values that they pass on; others are
// not.
// RUN: tpsp-opt %s --tpsp-explain -o /dev/null | FileCheck %s
// RUN: tpsp-opt %s --tpsp-explain="every-layer" -o /dev/null | FileCheck %s --check-prefix=EVERY --implicit-check-not="  x " --implicit-check-not="  |"
// RUN: tpsp-run %s --function model --grad --simulate --hardware cpu | FileCheck %s --check-prefix=LEDGER
// RUN: tpsp-run %s --function model --grad --simulate --hardware cpu --every-layer | FileCheck %s --check-prefix=ALL

//      CHECK: {{^}}forward
// CHECK-NEXT: {{^}}  x 3 (one to three), each next one with one.z for x
// CHECK-NEXT: {{^}}  | one.u[s, e@tp] = w0[e@tp, d] · x[s@tp, d]
// CHECK-NEXT: {{^}}  |   > all_gather x[s@tp, d] -> [s, d]
// CHECK-NEXT: {{^}}  |     over tp along s, 64 B per rank
// CHECK-NEXT: {{^}}  | one.a[s, e@tp] = gelu(one.u[s, e@tp])
//      CHECK: {{^}}  | one.z[s@tp, d] = x[s@tp, d] + one.m[s@tp, d]
// CHECK-NEXT: {{^}}  four.u[s, e@tp] = w3[e@tp, d] · three.z[s@tp, d]
//      CHECK: {{^}}  four.a[s, e@tp] = silu(four.u[s, e@tp])
//      CHECK: {{^}}backward
//      CHECK: {{^}}  g[four.u][s, e@tp] = silu'(g[four.a][s, e@tp], four.u[s, e@tp])
//      CHECK: {{^}}  x 3 (three to one), each next one with g[two.z] for g[three.z]
// CHECK-NEXT: {{^}}  | g[v2][d, e@tp] = g[three.z][s@tp, d] · three.a[s, e@tp]
//  CHECK-NOT: g[two.a]
//      CHECK: {{^}}  forward all_gather over tp x4

// EVERY: two.u[s, e@tp] = w1[e@tp, d] · one.z[s@tp, d]
// EVERY: three.u[s, e@tp] = w2[e@tp, d] · two.z[s@tp, d]
// EVERY: g[two.a]
// EVERY: g[one.a]

// LEDGER: Collectives (bytes sent per rank, each time)
// LEDGER-NEXT: phase kind axes index bytes times tensor why
// LEDGER-NEXT: forward all_gather tp s 64 B x1 x
// LEDGER-NEXT: forward reduce_scatter tp s 64 B x3 one.m
// LEDGER-NEXT: forward all_gather tp s 64 B x2 one.z
// ALL: Collectives (bytes sent per rank)
// ALL: forward reduce_scatter tp s 64 B one.m
// ALL: forward reduce_scatter tp s 64 B two.m

tpsp.mesh @mesh <tp = 2 : model>

!x = tensor<4x8xf32, #tpsp.idx<s@tp, d>>
!y = tensor<4x16xf32, #tpsp.idx<s, e@tp>>
!w = tensor<16x8xf32, #tpsp.idx<e@tp, d>>
!v = tensor<8x16xf32, #tpsp.idx<d, e@tp>>

func.func private @mlp(%x: !x, %w: !w, %v: !v) -> !x {
  %u = tpsp.einsum %w, %x : (!w, !x) -> !y
  %a = tpsp.gelu %u : !y
  %m = tpsp.einsum %v, %a : (!v, !y) -> !x
  %z = tpsp.add %x, %m : !x
  return %z : !x
}

// The last layer has another function of u.
func.func private @last(%x: !x, %w: !w, %v: !v) -> !x {
  %u = tpsp.einsum %w, %x : (!w, !x) -> !y
  %a = tpsp.silu %u : !y
  %m = tpsp.einsum %v, %a : (!v, !y) -> !x
  %z = tpsp.add %x, %m : !x
  return %z : !x
}

func.func @model(%x: !x {tpsp.name = "x"},
                 %w0: !w {tpsp.param = "w0"}, %v0: !v {tpsp.param = "v0"},
                 %w1: !w {tpsp.param = "w1"}, %v1: !v {tpsp.param = "v1"},
                 %w2: !w {tpsp.param = "w2"}, %v2: !v {tpsp.param = "v2"},
                 %w3: !w {tpsp.param = "w3"}, %v3: !v {tpsp.param = "v3"}) -> !x {
  %one = call @mlp(%x, %w0, %v0) : (!x, !w, !v) -> !x
  %two = call @mlp(%one, %w1, %v1) : (!x, !w, !v) -> !x
  %three = call @mlp(%two, %w2, %v2) : (!x, !w, !v) -> !x
  %four = call @last(%three, %w3, %v3) : (!x, !w, !v) -> !x
  return %four : !x
}
