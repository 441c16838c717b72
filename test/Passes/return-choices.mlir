// RUN: tpsp-opt %s --tpsp-return-choices | FileCheck %s

// Integers made from numbers are returned. Those made from integers follow from
// them, and existing results are not changed.

tpsp.mesh @mesh <ep = 2 : model>
!x = tensor<4x8x4xf32, #tpsp.idx<g@ep, s, e>>
!k = tensor<4x8x2xi32, #tpsp.idx<g@ep, s, k>>
!w = tensor<4x8x2xf32, #tpsp.idx<g@ep, s, k>>

// CHECK-LABEL: func.func @hidden
// CHECK-SAME:    -> (tensor<4x8x2xf32, {{.*}}>, tensor<4x8x2xi32, {{.*}}> {tpsp.choice, tpsp.name = "router"})
// CHECK:         %[[CHOICE:.*]] = tpsp.router
// CHECK:         tpsp.count_earlier
// CHECK:         %[[W:.*]] = tpsp.one_hot_einsum
// CHECK:         return %[[W]], %[[CHOICE]]
func.func @hidden(%x: !x) -> !w {
  %choice = tpsp.router %x {expert = "e", choice = "k"} : (!x) -> !k
  %slot = tpsp.count_earlier %choice {over = ["s"], values = 4} : (!k) -> !k
  %w = tpsp.one_hot_einsum %choice, %x {indices = ["e"]} : (!k, !x) -> !w
  return %w : !w
}

// CHECK-LABEL: func.func @returned
// CHECK-SAME:    -> tensor<4x8x2xi32, {{[^>]*}}>> {
func.func @returned(%x: !x) -> !k {
  %choice = tpsp.router %x {expert = "e", choice = "k"} : (!x) -> !k
  return %choice : !k
}

// CHECK-LABEL: func.func @counts
// CHECK-SAME:    -> tensor<4x8x2xi32, {{[^>]*}}>> {
func.func @counts(%ids: !k) -> !k {
  %slot = tpsp.count_earlier %ids {over = ["s"], values = 4} : (!k) -> !k
  return %slot : !k
}
