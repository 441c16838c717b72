// Layers are found wherever they are called: in a tower of their own, and where
// two functions take turns. Layers that the function itself writes out are not.
// RUN: tpsp-opt %s --tpsp-explain -o /dev/null | FileCheck %s
// RUN: tpsp-opt %s --tpsp-formulas -o /dev/null | FileCheck %s --check-prefix=FORMULAS

//      CHECK: {{^}}tower_grad
//      CHECK: {{^}}forward
// CHECK-NEXT: {{^}}  x 3 (global0 to global2), each next one with y.global0.z for x
//      CHECK: {{^}}  x 4 (local0 to local3), each next one with z.local0.z for y.global2.z
//      CHECK: {{^}}backward
// CHECK-NEXT: {{^}}  x 4 (local3 to local0), each next one with g[z.local2.z] for g[z.local3.z]
//      CHECK: {{^}}  x 3 (global2 to global0), each next one with g[y.global1.z] for g[y.global2.z]

//      CHECK: {{^}}turns_grad
//      CHECK: {{^}}forward
// CHECK-NEXT: {{^}}  x 3 (x1 to x5), each next one with x2.z for x
//      CHECK: {{^}}  | x1.a[s, e@tp] = gelu(
//      CHECK: {{^}}  | x2.a[s, e@tp] = silu(
//      CHECK: {{^}}backward
// CHECK-NEXT: {{^}}  x 3 (x6 to x2), each next one with g[x4.z] for g[x6.z]

//      CHECK: {{^}}by_hand_grad
//  CHECK-NOT: {{^}}  x {{[0-9]}}

// FORMULAS: s = 4, d = 8, e = 16, L1 = 3 (x1 to x5), L2 = 3 (x2 to x6), tp = 2
tpsp.program <s = 4, d = 8, e = 16> {
mesh @mesh <tp = 2 : model>

func private @global(%x: [s, d], param %w: [e@tp, d], param %v: [d, e@tp]) -> [s, d] {
  %u = einsum %w, %x -> [s, e, ?]
  %a = gelu %u
  %m = einsum %v, %a -> [s, d, ?]
  %z = add %x, %m
  return %z
}
func private @local(%x: [s, d], param %w: [e@tp, d], param %v: [d, e@tp]) -> [s, d] {
  %u = einsum %w, %x -> [s, e, ?]
  %a = silu %u
  %m = einsum %v, %a -> [s, d, ?]
  %z = add %x, %m
  return %z
}
func private @encoder(%x: [s, d]) -> [s, d] {
  %y = repeat 3 @global(%x) as "global#.*"
  return %y
}
func private @decoder(%x: [s, d]) -> [s, d] {
  %y = repeat 4 @local(%x) as "local#.*"
  return %y
}
func @tower(%x: [s, d]) -> [s, d] {
  %y = call @encoder(%x) as "encoder.*"
  %z = call @decoder(%y) as "decoder.*"
  return %z
}
func @turns(%x: [s, d]) -> [s, d] {
  %x1 = call @global(%x) as "0.*"
  %x2 = call @local(%x1) as "1.*"
  %x3 = call @global(%x2) as "2.*"
  %x4 = call @local(%x3) as "3.*"
  %x5 = call @global(%x4) as "4.*"
  %x6 = call @local(%x5) as "5.*"
  return %x6
}
func @by_hand(%x: [s, d], param %w0, %w1, %w2: [d, e@tp], param %v0, %v1, %v2: [e@tp, d]) -> [s, d] {
  %u0 = einsum %w0, %x -> [s, e, ?]
  %a0 = gelu %u0
  %x1 = einsum %v0, %a0 -> [s, d, ?]
  %u1 = einsum %w1, %x1 -> [s, e, ?]
  %a1 = gelu %u1
  %x2 = einsum %v1, %a1 -> [s, d, ?]
  %u2 = einsum %w2, %x2 -> [s, e, ?]
  %a2 = gelu %u2
  %x3 = einsum %v2, %a2 -> [s, d, ?]
  return %x3
}
}
