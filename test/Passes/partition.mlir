// RUN: tpsp-opt %s --tpsp-partition --split-input-file | FileCheck %s

tpsp.mesh @mesh <dp = 2, tp = 4>

// Arguments, results, and everything between.
// CHECK-LABEL: @shapes
// CHECK-SAME: (%{{.*}}: tensor<16x32xf32, #tpsp.idx<e@tp, d, local>> {tpsp.param = "w"}, %{{.*}}: tensor<4x8x32xf32, #tpsp.idx<b@dp, s@tp, d, local>>)
// CHECK-SAME: -> tensor<4x32x16xf32, #tpsp.idx<b@dp, s, e@tp, local>>
func.func @shapes(%w: tensor<64x32xf32, #tpsp.idx<e@tp, d>> {tpsp.param = "w"}, %x: tensor<8x32x32xf32, #tpsp.idx<b@dp, s@tp, d>>) -> tensor<8x32x64xf32, #tpsp.idx<b@dp, s, e@tp>> {
  // CHECK-NEXT: all_gather {{.*}} : tensor<4x8x32xf32, #tpsp.idx<b@dp, s@tp, d, local>> -> tensor<4x32x32xf32, #tpsp.idx<b@dp, s, d, local>>
  %g = tpsp.all_gather %x ["tp"] : tensor<8x32x32xf32, #tpsp.idx<b@dp, s@tp, d>> -> tensor<8x32x32xf32, #tpsp.idx<b@dp, s, d>>
  // CHECK-NEXT: einsum {{.*}} -> tensor<4x32x16xf32, #tpsp.idx<b@dp, s, e@tp, local>>
  %y = tpsp.einsum %w, %g : (tensor<64x32xf32, #tpsp.idx<e@tp, d>>, tensor<8x32x32xf32, #tpsp.idx<b@dp, s, d>>) -> tensor<8x32x64xf32, #tpsp.idx<b@dp, s, e@tp>>
  return %y : tensor<8x32x64xf32, #tpsp.idx<b@dp, s, e@tp>>
}

// A pending tensor has its whole shape on every rank.
// CHECK-LABEL: @pending
func.func @pending(%x: tensor<8x64xf32, #tpsp.idx<b, e@tp>>) -> tensor<8xf32, #tpsp.idx<b | sum@tp>> {
  // CHECK-NEXT: reduce {{.*}} -> tensor<8xf32, #tpsp.idx<b, local | sum@tp>>
  %y = tpsp.reduce %x : tensor<8x64xf32, #tpsp.idx<b, e@tp>> -> tensor<8xf32, #tpsp.idx<b | sum@tp>>
  return %y : tensor<8xf32, #tpsp.idx<b | sum@tp>>
}

// -----

// Among one rank nothing moves.
tpsp.mesh @mesh <tp = 1>

// CHECK-LABEL: @one_rank
func.func @one_rank(%x: tensor<8xf32, #tpsp.idx<b@tp>>) -> tensor<8xf32, #tpsp.idx<b>> {
  // CHECK-NOT: all_gather
  // CHECK: return {{.*}} : tensor<8xf32, #tpsp.idx<b, local>>
  %y = tpsp.all_gather %x ["tp"] : tensor<8xf32, #tpsp.idx<b@tp>> -> tensor<8xf32, #tpsp.idx<b>>
  return %y : tensor<8xf32, #tpsp.idx<b>>
}
