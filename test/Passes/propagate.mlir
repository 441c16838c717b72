// RUN: tpsp-opt %s --tpsp-propagate --split-input-file | FileCheck %s

tpsp.mesh @mesh <dp = 2 : data, tp = 4 : model>

!x = tensor<8x16x32xf32, #tpsp.idx<b@dp, s@tp, d>>
!w = tensor<64x32xf32, #tpsp.idx<e@tp, d>>
!h = tensor<8x16x64xf32, #tpsp.idx<b, s, e, ?>>

// On a model axis the parameter's index stays: e, not s. On a data axis the
// activation's.
// CHECK-LABEL: @model_axis
func.func @model_axis(%x: !x, %w: !w {tpsp.param}) {
  // CHECK: einsum {{.*}} -> tensor<8x16x64xf32, #tpsp.idx<b@dp, s, e@tp>>
  %y = tpsp.einsum %w, %x : (!w, !x) -> !h
  // CHECK: gelu {{.*}} : tensor<8x16x64xf32, #tpsp.idx<b@dp, s, e@tp>>
  %v = tpsp.gelu %y : !h
  return
}

// A weight under another shape is a parameter still.
// CHECK-LABEL: @parameter_behind_a_view
func.func @parameter_behind_a_view(%x: !x, %w: tensor<8x8x32xf32, #tpsp.idx<h@tp, k, d>> {tpsp.param}) {
  // CHECK: merge {{.*}} -> tensor<64x32xf32, #tpsp.idx<e@tp, d>>
  %m = tpsp.merge %w : tensor<8x8x32xf32, #tpsp.idx<h@tp, k, d>> -> tensor<64x32xf32, #tpsp.idx<e, d, ?>>
  // CHECK: einsum {{.*}} -> tensor<8x16x64xf32, #tpsp.idx<b@dp, s, e@tp>>
  %y = tpsp.einsum %m, %x : (tensor<64x32xf32, #tpsp.idx<e, d, ?>>, !x) -> !h
  return
}

// Axes keep the order in which the operand that decides has them: dp, which the
// weight brings first but elsewhere, does not come before tp.
// CHECK-LABEL: @order_of_axes
func.func @order_of_axes(%x: tensor<8x16x32xf32, #tpsp.idx<b@tp@dp, s, d>>, %w: tensor<64x32xf32, #tpsp.idx<e@dp, d>> {tpsp.param}) {
  // CHECK: einsum {{.*}} -> tensor<8x16x64xf32, #tpsp.idx<b@tp@dp, s, e>>
  %y = tpsp.einsum %w, %x : (tensor<64x32xf32, #tpsp.idx<e@dp, d>>, tensor<8x16x32xf32, #tpsp.idx<b@tp@dp, s, d>>) -> !h
  return
}

// A contracted index places nothing.
// CHECK-LABEL: @contracted
func.func @contracted(%w: tensor<32x64xf32, #tpsp.idx<d, e@tp>> {tpsp.param}, %y: tensor<8x16x64xf32, #tpsp.idx<b@dp, s, e@tp>>) {
  // CHECK: einsum {{.*}} -> tensor<8x16x32xf32, #tpsp.idx<b@dp, s, d>>
  %z = tpsp.einsum %w, %y : (tensor<32x64xf32, #tpsp.idx<d, e@tp>>, tensor<8x16x64xf32, #tpsp.idx<b@dp, s, e@tp>>) -> tensor<8x16x32xf32, #tpsp.idx<b, s, d, ?>>
  return
}

// Backwards, from a result that the user placed, through the residual to both
// summands, and across a norm.
// CHECK-LABEL: @backwards
func.func @backwards(%x: tensor<8x16x32xf32, #tpsp.idx<b, s, d>>, %g: tensor<32xf32, #tpsp.idx<d>>) -> !x {
  // CHECK: rms_norm {{.*}} -> tensor<8x16x32xf32, #tpsp.idx<b@dp, s@tp, d>>
  %n = tpsp.rms_norm %x, %g : (tensor<8x16x32xf32, #tpsp.idx<b, s, d>>, tensor<32xf32, #tpsp.idx<d>>) -> tensor<8x16x32xf32, #tpsp.idx<b, s, d, ?>>
  %z = tpsp.add %x, %n : (tensor<8x16x32xf32, #tpsp.idx<b, s, d>>, tensor<8x16x32xf32, #tpsp.idx<b, s, d, ?>>) -> !x
  return %z : !x
}

// Never onto an index that must be whole: not onto the pairs of a rotation.
// CHECK-LABEL: @whole
func.func @whole(%x: tensor<8x32xf32, #tpsp.idx<b, d@tp>>) {
  // CHECK: rope {{.*}} -> tensor<8x32xf32, #tpsp.idx<b, d>>
  %n = tpsp.rope %x {position = "b", feature = "d"} : (tensor<8x32xf32, #tpsp.idx<b, d@tp>>) -> tensor<8x32xf32, #tpsp.idx<b, d, ?>>
  return
}

// Rows may be divided if statistics are reduced: the composite is decomposed. A
// gain alone divides none.
// CHECK-LABEL: @rows
func.func @rows(%x: tensor<8x32xf32, #tpsp.idx<b, d@tp>>, %g: tensor<32xf32, #tpsp.idx<d>>) {
  // CHECK-NOT: rms_norm
  // CHECK: square %{{.*}} : tensor<8x32xf32, #tpsp.idx<b, d@tp>>
  // CHECK: mul {{.*}}tpsp.proposed} : (tensor<8x32xf32, #tpsp.idx<b, d@tp>>, tensor<32xf32, #tpsp.idx<d>>) -> tensor<8x32xf32, #tpsp.idx<b, d@tp>>
  %n = tpsp.rms_norm %x, %g : (tensor<8x32xf32, #tpsp.idx<b, d@tp>>, tensor<32xf32, #tpsp.idx<d>>) -> tensor<8x32xf32, #tpsp.idx<b, d, ?>>
  // CHECK-NOT: softmax
  // CHECK: div
  %s = tpsp.softmax %n {over = "d"} : tensor<8x32xf32, #tpsp.idx<b, d, ?>>
  return
}

// CHECK-LABEL: @gain
func.func @gain(%x: tensor<8x32xf32, #tpsp.idx<b, d>>, %g: tensor<32xf32, #tpsp.idx<d@tp>>) {
  // CHECK: rms_norm {{.*}} -> tensor<8x32xf32, #tpsp.idx<b, d>>
  %n = tpsp.rms_norm %x, %g : (tensor<8x32xf32, #tpsp.idx<b, d>>, tensor<32xf32, #tpsp.idx<d@tp>>) -> tensor<8x32xf32, #tpsp.idx<b, d, ?>>
  return
}

// A sequence may be divided, too: later operations use its shards.
// CHECK-LABEL: @sequence
func.func @sequence(%x: tensor<8x32xf32, #tpsp.idx<s@tp, d>>, %a: tensor<8xf32, #tpsp.idx<s@tp>>) {
  // CHECK: %[[X:.*]] = tpsp.split %{{.*}} -> tensor<4x2x32xf32, #tpsp.idx<s.span@tp, s.in, d>>
  // CHECK: scan %[[X]], %{{.*}} {index = "s.in"{{.*}}} : {{.*}} -> tensor<4x2x32xf32, #tpsp.idx<s.span@tp, s.in, d>>
  // CHECK: scan %{{.*}} {index = "s.in"{{.*}}} : tensor<4x2xf32, #tpsp.idx<s.span@tp, s.in>>
  // CHECK: scan %{{.*}} {index = "s.span"{{.*}}} : {{.*}} -> tensor<4x32xf32
  // CHECK: delay %{{.*}} {index = "s.span"
  // CHECK: merge %{{.*}} -> tensor<8x32xf32, #tpsp.idx<s@tp, d>>
  %y = tpsp.scan %x, %a {index = "s"} : (tensor<8x32xf32, #tpsp.idx<s@tp, d>>, tensor<8xf32, #tpsp.idx<s@tp>>) -> tensor<8x32xf32, #tpsp.idx<s, d, ?>>
  return
}

// A decay alone divides none.
// CHECK-LABEL: @decay
func.func @decay(%x: tensor<8x32xf32, #tpsp.idx<s, d>>, %a: tensor<8xf32, #tpsp.idx<s@tp>>) {
  // CHECK: scan {{.*}} -> tensor<8x32xf32, #tpsp.idx<s, d>>
  %y = tpsp.scan %x, %a {index = "s"} : (tensor<8x32xf32, #tpsp.idx<s, d>>, tensor<8xf32, #tpsp.idx<s@tp>>) -> tensor<8x32xf32, #tpsp.idx<s, d, ?>>
  return
}

// A value that nothing places is replicated; a scalar, too.
// CHECK-LABEL: @replicated
func.func @replicated(%x: tensor<8xf32, #tpsp.idx<b>>) {
  // CHECK: exp {{.*}} : tensor<8xf32, #tpsp.idx<b>>{{$}}
  %y = tpsp.exp %x : tensor<8xf32, #tpsp.idx<b>> -> tensor<8xf32, #tpsp.idx<b, ?>>
  // CHECK: reduce {{.*}} -> tensor<f32, #tpsp.idx<>>
  %z = tpsp.reduce %y : tensor<8xf32, #tpsp.idx<b, ?>> -> tensor<f32, #tpsp.idx<?>>
  return
}

// A written placement stays, even if it costs.
// CHECK-LABEL: @written
func.func @written(%x: tensor<8x16xf32, #tpsp.idx<b@dp, s>>) {
  // CHECK: exp {{.*}} -> tensor<8x16xf32, #tpsp.idx<b, s@tp>>
  %y = tpsp.exp %x : tensor<8x16xf32, #tpsp.idx<b@dp, s>> -> tensor<8x16xf32, #tpsp.idx<b, s@tp>>
  return
}

// The order of several axes on one index is kept.
// CHECK-LABEL: @order
func.func @order(%x: tensor<8x16xf32, #tpsp.idx<b@tp@dp, s>>) {
  // CHECK: exp {{.*}} : tensor<8x16xf32, #tpsp.idx<b@tp@dp, s>>{{$}}
  %y = tpsp.exp %x : tensor<8x16xf32, #tpsp.idx<b@tp@dp, s>> -> tensor<8x16xf32, #tpsp.idx<b, s, ?>>
  return
}

// An axis never goes where it does not divide: 6 heads over 4.
// CHECK-LABEL: @uneven
func.func @uneven(%x: tensor<24xf32, #tpsp.idx<e@tp>>) {
  // CHECK: split {{.*}} -> tensor<6x4xf32, #tpsp.idx<h, k>>
  %y = tpsp.split %x : tensor<24xf32, #tpsp.idx<e@tp>> -> tensor<6x4xf32, #tpsp.idx<h, k, ?>>
  return
}

// -----

// The same structure on a data axis: the weight moves, and the batch stays.
tpsp.mesh @mesh <fsdp = 4 : data>

// CHECK-LABEL: @data_axis
func.func @data_axis(%x: tensor<8x32xf32, #tpsp.idx<b@fsdp, d>>, %w: tensor<64x32xf32, #tpsp.idx<e@fsdp, d>> {tpsp.param}) {
  // CHECK: einsum {{.*}} -> tensor<8x64xf32, #tpsp.idx<b@fsdp, e>>
  %y = tpsp.einsum %w, %x : (tensor<64x32xf32, #tpsp.idx<e@fsdp, d>>, tensor<8x32xf32, #tpsp.idx<b@fsdp, d>>) -> tensor<8x64xf32, #tpsp.idx<b, e, ?>>
  return
}

// -----

// Without a role an index that must be whole later decides.
tpsp.mesh @mesh <ax = 4>

// CHECK-LABEL: @decided_by_a_later_softmax
func.func @decided_by_a_later_softmax(%x: tensor<8x32xf32, #tpsp.idx<b@ax, d>>, %w: tensor<64x32xf32, #tpsp.idx<e@ax, d>>) {
  // CHECK: einsum {{.*}} -> tensor<8x64xf32, #tpsp.idx<b@ax, e>>
  %y = tpsp.einsum %w, %x : (tensor<64x32xf32, #tpsp.idx<e@ax, d>>, tensor<8x32xf32, #tpsp.idx<b@ax, d>>) -> tensor<8x64xf32, #tpsp.idx<b, e, ?>>
  %z = tpsp.softmax %y {over = "e"} : tensor<8x64xf32, #tpsp.idx<b, e, ?>>
  return
}

// -----

// A sum over an index that only the parameter has on the axis. On a data axis
// the parameter moves: it is wanted whole, which is written down as a reshard.
// On a model axis it stays, and the sum is left to the result; so it is where an
// activation has the axis and the whole parameter is sliced for nothing.
tpsp.mesh @mesh <fsdp = 2 : data, tp = 4 : model>

!x = tensor<8x32xf32, #tpsp.idx<b, d>>
!y = tensor<8x64xf32, #tpsp.idx<b, e, ?>>

// CHECK-LABEL: @one_sided_sum_on_a_data_axis
func.func @one_sided_sum_on_a_data_axis(%x: !x, %w: tensor<64x32xf32, #tpsp.idx<e, d@fsdp>> {tpsp.param}) {
  // CHECK: %[[W:.*]] = tpsp.reshard %{{.*}} : tensor<64x32xf32, #tpsp.idx<e, d@fsdp>> -> tensor<64x32xf32, #tpsp.idx<e, d>>
  // CHECK: einsum %[[W]], {{.*}} -> tensor<8x64xf32, #tpsp.idx<b, e>>
  %y = tpsp.einsum %w, %x : (tensor<64x32xf32, #tpsp.idx<e, d@fsdp>>, !x) -> !y
  return
}

// CHECK-LABEL: @one_sided_sum_on_a_model_axis
func.func @one_sided_sum_on_a_model_axis(%x: !x, %w: tensor<64x32xf32, #tpsp.idx<e, d@tp>> {tpsp.param}) {
  // CHECK-NOT: reshard
  // CHECK: einsum {{.*}} -> tensor<8x64xf32, #tpsp.idx<b, e>>
  %y = tpsp.einsum %w, %x : (tensor<64x32xf32, #tpsp.idx<e, d@tp>>, !x) -> !y
  return
}

// Two axes on the parameter's index: only the data axis is gathered.
// CHECK-LABEL: @one_sided_sum_on_both
func.func @one_sided_sum_on_both(%x: !x, %w: tensor<64x32xf32, #tpsp.idx<e, d@tp@fsdp>> {tpsp.param}) {
  // CHECK: reshard {{.*}} -> tensor<64x32xf32, #tpsp.idx<e, d@tp>>
  // CHECK: einsum {{.*}} -> tensor<8x64xf32, #tpsp.idx<b, e>>
  %y = tpsp.einsum %w, %x : (tensor<64x32xf32, #tpsp.idx<e, d@tp@fsdp>>, !x) -> !y
  return
}

// CHECK-LABEL: @one_sided_sum_of_an_activation
func.func @one_sided_sum_of_an_activation(%x: tensor<8x32xf32, #tpsp.idx<b, d@fsdp>>, %w: tensor<64x32xf32, #tpsp.idx<e, d>> {tpsp.param}) {
  // CHECK-NOT: reshard
  // CHECK: einsum {{.*}} -> tensor<8x64xf32, #tpsp.idx<b, e>>
  %y = tpsp.einsum %w, %x : (tensor<64x32xf32, #tpsp.idx<e, d>>, tensor<8x32xf32, #tpsp.idx<b, d@fsdp>>) -> !y
  return
}

// A written result needs no role.
// CHECK-LABEL: @one_sided_sum_written
func.func @one_sided_sum_written(%x: !x, %w: tensor<64x32xf32, #tpsp.idx<e, d@fsdp>>) {
  // CHECK-NOT: reshard
  // CHECK: einsum {{.*}} -> tensor<8x64xf32, #tpsp.idx<b, e>>
  %y = tpsp.einsum %w, %x : (tensor<64x32xf32, #tpsp.idx<e, d@fsdp>>, !x) -> tensor<8x64xf32, #tpsp.idx<b, e>>
  return
}

// -----

// Without a role a placed result decides, also through other operations.
tpsp.mesh @mesh <ax = 4>

// CHECK-LABEL: @decided_by_a_later_result
func.func @decided_by_a_later_result(%x: tensor<8x32xf32, #tpsp.idx<b@ax, d>>, %w: tensor<64x32xf32, #tpsp.idx<e@ax, d>>) -> tensor<8x64xf32, #tpsp.idx<b, e@ax>> {
  // CHECK: einsum {{.*}} -> tensor<8x64xf32, #tpsp.idx<b, e@ax>>
  %y = tpsp.einsum %w, %x : (tensor<64x32xf32, #tpsp.idx<e@ax, d>>, tensor<8x32xf32, #tpsp.idx<b@ax, d>>) -> tensor<8x64xf32, #tpsp.idx<b, e, ?>>
  %z = tpsp.gelu %y : (tensor<8x64xf32, #tpsp.idx<b, e, ?>>) -> tensor<8x64xf32, #tpsp.idx<b, e@ax>>
  return %z : tensor<8x64xf32, #tpsp.idx<b, e@ax>>
}

// -----

// The function's type has the placement that an unplaced result got.
tpsp.mesh @mesh <ax = 4>

// CHECK-LABEL: @unplaced_result
// CHECK-SAME: -> tensor<8x32xf32, #tpsp.idx<b@ax, d>>
func.func @unplaced_result(%x: tensor<8x32xf32, #tpsp.idx<b@ax, d>>) -> tensor<8x32xf32, #tpsp.idx<b, d, ?>> {
  %y = tpsp.gelu %x : (tensor<8x32xf32, #tpsp.idx<b@ax, d>>) -> tensor<8x32xf32, #tpsp.idx<b, d, ?>>
  return %y : tensor<8x32xf32, #tpsp.idx<b, d, ?>>
}

// -----

// An axis of one rank divides nothing, so its index does not matter. If
// operands disagree about it, the result does not have it.
tpsp.mesh @mesh <ax = 1, tp = 2>
// CHECK-LABEL: @one_rank
func.func @one_rank(%x: tensor<8x32xf32, #tpsp.idx<b@ax, d>>, %w: tensor<64x32xf32, #tpsp.idx<e@ax@tp, d>> {tpsp.param}, %v: tensor<4x32xf32, #tpsp.idx<c, d@ax>>) {
  // CHECK: tpsp.einsum {{.*}} -> tensor<8x64xf32, #tpsp.idx<b, e@tp>>
  %y = tpsp.einsum %w, %x : (tensor<64x32xf32, #tpsp.idx<e@ax@tp, d>>, tensor<8x32xf32, #tpsp.idx<b@ax, d>>) -> tensor<8x64xf32, #tpsp.idx<b, e, ?>>
  // CHECK: tpsp.einsum {{.*}} -> tensor<64x4xf32, #tpsp.idx<e@ax@tp, c>>
  %z = tpsp.einsum %w, %v : (tensor<64x32xf32, #tpsp.idx<e@ax@tp, d>>, tensor<4x32xf32, #tpsp.idx<c, d@ax>>) -> tensor<64x4xf32, #tpsp.idx<e, c, ?>>
  // A sum over an index that one operand alone has on it.
  // CHECK: tpsp.einsum {{.*}} -> tensor<4xf32, #tpsp.idx<c>>
  %s = tpsp.einsum %v, %x : (tensor<4x32xf32, #tpsp.idx<c, d@ax>>, tensor<8x32xf32, #tpsp.idx<b@ax, d>>) -> tensor<4xf32, #tpsp.idx<c, ?>>
  return
}

// -----

// If two operands have a summed index on an axis, it is summed there, whatever
// other operands have it: two gathers do not save one reduction. The third
// operand is one that a dispatch makes from its ids.
tpsp.mesh @mesh <cp = 4>
!ids = tensor<8x1xi32, #tpsp.idx<s@cp, c>>
!places = tensor<8x1xi32, #tpsp.idx<s, c>>
!x = tensor<8x16xf32, #tpsp.idx<s@cp, d>>
!q = tensor<2x4x16xf32, #tpsp.idx<e, q, d, ?>>
// CHECK-LABEL: @two_of_three
func.func @two_of_three(%ids: !ids, %places: !places, %x: !x) {
  // CHECK-NOT: tpsp.reshard
  // CHECK: tpsp.one_hot_einsum {{.*}} -> tensor<2x4x16xf32, #tpsp.idx<e, q, d>>
  %y = tpsp.one_hot_einsum %ids, %places, %x {indices = ["e", "q"]} : (!ids, !places, !x) -> !q
  return
}
