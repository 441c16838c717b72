// Operations on positions, masks and stopped gradients: there and back.
// RUN: tpsp-opt %s | tpsp-opt | FileCheck %s
// RUN: tpsp-opt %s --verify-roundtrip

!ids   = tensor<2x16xi32, #tpsp.idx<b, s>>
!table = tensor<32x8xf32, #tpsp.idx<v, d>>
!x     = tensor<2x16x8xf32, #tpsp.idx<b, s, d>>
!row   = tensor<2x16xf32, #tpsp.idx<b, s>>
!score = tensor<2x16x4xf32, #tpsp.idx<b, s, e>>
!which = tensor<2x16x2xi32, #tpsp.idx<b, s, k>>
!share = tensor<2x16x2xf32, #tpsp.idx<b, s, k>>
!slots = tensor<4x2x8x8xf32, #tpsp.idx<e, b, c, d>>

// CHECK-LABEL: @lookups
func.func @lookups(%ids: !ids, %table: !table, %logits: tensor<2x16x32xf32, #tpsp.idx<b, s, v>>) {
  // CHECK: tpsp.embedding %{{.*}}, %{{.*}} {vocabulary = "v"} : (
  %0 = tpsp.embedding %ids, %table {vocabulary = "v"} : (!ids, !table) -> !x
  // CHECK: tpsp.one_hot_einsum %{{.*}}, %{{.*}} {indices = ["v"]} : (
  %1 = tpsp.one_hot_einsum %ids, %table {indices = ["v"]} : (!ids, !table) -> !x
  // CHECK: tpsp.cross_entropy %{{.*}}, %{{.*}} {over = "v"} : (
  %2 = tpsp.cross_entropy %logits, %ids {over = "v"} : (tensor<2x16x32xf32, #tpsp.idx<b, s, v>>, !ids) -> !row
  // CHECK: tpsp.mean %{{.*}} : tensor<2x16xf32, #tpsp.idx<b, s>> -> tensor<f32, #tpsp.idx<>>
  %3 = tpsp.mean %2 : !row -> tensor<f32, #tpsp.idx<>>
  return
}

// CHECK-LABEL: @routing
func.func @routing(%scores: !score, %x: !x, %share: !share) {
  // CHECK: tpsp.router %{{.*}} {choice = "k", expert = "e"} :
  %0 = tpsp.router %scores {expert = "e", choice = "k"} : !score -> !which
  // CHECK: tpsp.count_earlier %{{.*}} {over = ["k", "s"], values = 4 : i64} :
  %1 = tpsp.count_earlier %0 {over = ["k", "s"], values = 4} : !which
  // CHECK: tpsp.dispatch %{{.*}}, %{{.*}} {choice = "k", expert = "e", slot = "c"} : (
  %2 = tpsp.dispatch %0, %x {expert = "e", slot = "c", choice = "k"} : (!which, !x) -> !slots
  // CHECK: tpsp.combine %{{.*}}, %{{.*}}, %{{.*}} {choice = "k", expert = "e", slot = "c"} : (
  %3 = tpsp.combine %0, %share, %2 {expert = "e", slot = "c", choice = "k"} : (!which, !share, !slots) -> !x
  return
}

// CHECK-LABEL: @grouped
func.func @grouped(%ids: tensor<2x7xi32, #tpsp.idx<b, r>>, %w: tensor<5x4x8xf32, #tpsp.idx<e, f, d>>, %y: tensor<2x7x8xf32, #tpsp.idx<b, r, d>>) {
  // CHECK: tpsp.one_hot_einsum %{{.*}}, %{{.*}}, %{{.*}} {indices = ["e"]} : (
  %0 = tpsp.one_hot_einsum %ids, %w, %y {indices = ["e"]} : (tensor<2x7xi32, #tpsp.idx<b, r>>, tensor<5x4x8xf32, #tpsp.idx<e, f, d>>, tensor<2x7x8xf32, #tpsp.idx<b, r, d>>) -> tensor<2x7x4xf32, #tpsp.idx<b, r, f>>
  return
}

// CHECK-LABEL: @blocks
func.func @blocks(%ids: tensor<2x4x2xi32, #tpsp.idx<g, s, k>>, %w: tensor<2x4x2xf32, #tpsp.idx<g, s, k>>, %x: tensor<2x4x8xf32, #tpsp.idx<g, s, d>>) {
  // CHECK: tpsp.count_values %{{.*}} {of = ["j", "i"], over = ["s", "k"]} : tensor<2x4x2xi32
  %0 = tpsp.count_values %ids {over = ["s", "k"], of = ["j", "i"]} : (tensor<2x4x2xi32, #tpsp.idx<g, s, k>>) -> tensor<2x2x3xi32, #tpsp.idx<g, j, i>>
  // CHECK: tpsp.runs %{{.*}} {along = "c", of = "i"} : tensor<2x2x3xi32
  %1 = tpsp.runs %0 {of = "i", along = "c"} : (tensor<2x2x3xi32, #tpsp.idx<g, j, i>>) -> tensor<2x2x5xi32, #tpsp.idx<g, j, c>>
  // CHECK: tpsp.block_of %{{.*}} {size = 3 : i64} :
  %2 = tpsp.block_of %ids {size = 3} : tensor<2x4x2xi32, #tpsp.idx<g, s, k>>
  // CHECK: tpsp.count_earlier %{{.*}}, %{{.*}} {of = ["j", "i"], over = ["k", "s"], values = 6 : i64} : (
  %3 = tpsp.count_earlier %ids, %0 {over = ["k", "s"], values = 6, of = ["j", "i"]} : (tensor<2x4x2xi32, #tpsp.idx<g, s, k>>, tensor<2x2x3xi32, #tpsp.idx<g, j, i>>) -> tensor<2x4x2xi32, #tpsp.idx<g, s, k>>
  // CHECK: tpsp.dispatch %{{.*}}, %{{.*}}, %{{.*}} {choice = "k", expert = "i", slot = "c"} : (
  %4 = tpsp.dispatch %ids, %0, %x {expert = "i", slot = "c", choice = "k"} : (tensor<2x4x2xi32, #tpsp.idx<g, s, k>>, tensor<2x2x3xi32, #tpsp.idx<g, j, i>>, tensor<2x4x8xf32, #tpsp.idx<g, s, d>>) -> tensor<2x2x5x8xf32, #tpsp.idx<j, g, c, d>>
  // CHECK: tpsp.combine %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {choice = "k", expert = "i", slot = "c"} : (
  %5 = tpsp.combine %ids, %0, %w, %4 {expert = "i", slot = "c", choice = "k"} : (tensor<2x4x2xi32, #tpsp.idx<g, s, k>>, tensor<2x2x3xi32, #tpsp.idx<g, j, i>>, tensor<2x4x2xf32, #tpsp.idx<g, s, k>>, tensor<2x2x5x8xf32, #tpsp.idx<j, g, c, d>>) -> tensor<2x4x8xf32, #tpsp.idx<g, s, d>>
  return
}

// CHECK-LABEL: @masks
func.func @masks(%x: !x, %step: tensor<f32, #tpsp.idx<>>) {
  // CHECK: tpsp.dropout %{{.*}} {rate = 2.500000e-01 : f64, seed = 7 : i64} : tensor<2x16x8xf32
  %0 = tpsp.dropout %x {rate = 0.25, seed = 7} : !x
  // CHECK: tpsp.dropout %{{.*}} {rate = 2.500000e-01 : f64} : tensor<2x16x8xf32
  %1 = tpsp.dropout %x {rate = 0.25, seed = 0} : !x
  // CHECK: tpsp.dropout_mask {rate = 2.500000e-01 : f64} : () -> tensor<2x16x8xi8
  %2 = tpsp.dropout_mask {rate = 0.25} : () -> tensor<2x16x8xi8, #tpsp.idx<b, s, d>>
  // CHECK: tpsp.dropout %{{.*}}, %{{.*}} {rate = 2.500000e-01 : f64} : (tensor<2x16x8xf32, #tpsp.idx<b, s, d>>, tensor<f32, #tpsp.idx<>>) -> tensor<2x16x8xf32
  %5 = tpsp.dropout %x, %step {rate = 0.25} : (!x, tensor<f32, #tpsp.idx<>>) -> !x
  // CHECK: tpsp.dropout_mask %{{.*}} {rate = 2.500000e-01 : f64} : tensor<f32, #tpsp.idx<>> -> tensor<2x16x8xi8
  %6 = tpsp.dropout_mask %step {rate = 0.25} : (tensor<f32, #tpsp.idx<>>) -> tensor<2x16x8xi8, #tpsp.idx<b, s, d>>
  // CHECK: tpsp.compare %{{.*}}, %{{.*}} {is = "less"} : tensor<2x16x8xf32
  %7 = tpsp.compare %x, %0 {is = "less"} : !x
  // CHECK: tpsp.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x16x8xf32
  %8 = tpsp.select %7, %x, %0 : !x
  // CHECK: tpsp.apply_mask %{{.*}}, %{{.*}} {scale = 2.000000e+00 : f64} : (
  %3 = tpsp.apply_mask %x, %2 {scale = 2.0} : (!x, tensor<2x16x8xi8, #tpsp.idx<b, s, d>>) -> !x
  // CHECK: tpsp.stop_gradient %{{.*}} : tensor<2x16x8xf32
  %4 = tpsp.stop_gradient %3 : !x
  return
}
