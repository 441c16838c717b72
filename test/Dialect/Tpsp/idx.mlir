// RUN: tpsp-opt %s | tpsp-opt | FileCheck %s
// RUN: tpsp-opt %s --verify-roundtrip

tpsp.mesh @mesh <dp = 2, fsdp = 2, tp = 4>

// CHECK-LABEL: @unsharded
// CHECK-SAME: tensor<2x128x256xf32, #tpsp.idx<b, s, d>>
func.func private @unsharded(tensor<2x128x256xf32, #tpsp.idx<b, s, d>>)

// CHECK-LABEL: @sharded
// CHECK-SAME: #tpsp.idx<b, s@tp, d>
func.func private @sharded(tensor<2x128x256xf32, #tpsp.idx<b, s@tp, d>>)

// CHECK-LABEL: @several_axes_major_to_minor
// CHECK-SAME: #tpsp.idx<b@fsdp@dp, s@tp, d>
func.func private @several_axes_major_to_minor(
    tensor<8x128x256xf32, #tpsp.idx<b@fsdp@dp, s@tp, d>>)

// CHECK-LABEL: @pending_sum
// CHECK-SAME: #tpsp.idx<e@tp, d | sum@dp@fsdp>
func.func private @pending_sum(
    tensor<1024x256xbf16, #tpsp.idx<e@tp, d | sum@dp@fsdp>>)

// CHECK-LABEL: @pending_max
// CHECK-SAME: #tpsp.idx<b, s | max@tp>
func.func private @pending_max(tensor<2x128xf32, #tpsp.idx<b, s | max@tp>>)

// CHECK-LABEL: @unplaced
// CHECK-SAME: #tpsp.idx<b, s, e, ?>
func.func private @unplaced(tensor<2x128x1024xf32, #tpsp.idx<b, s, e, ?>>)

// CHECK-LABEL: @local
// CHECK-SAME: #tpsp.idx<b, s@tp, local>
func.func private @local(tensor<2x32xf32, #tpsp.idx<b, s@tp, local>>)

// CHECK-LABEL: @local_pending
// CHECK-SAME: #tpsp.idx<b, local | sum@tp>
func.func private @local_pending(tensor<2xf32, #tpsp.idx<b, local | sum@tp>>)

// CHECK-LABEL: @local_unplaced
// CHECK-SAME: #tpsp.idx<b, ?, local>
func.func private @local_unplaced(tensor<2xf32, #tpsp.idx<b, ?, local>>)

// CHECK-LABEL: @scalar
// CHECK-SAME: (tensor<f32, #tpsp.idx<>>)
func.func private @scalar(tensor<f32, #tpsp.idx<>>)

// CHECK-LABEL: @pending_scalar
// CHECK-SAME: #tpsp.idx<| sum@tp>
func.func private @pending_scalar(tensor<f32, #tpsp.idx<| sum@tp>>)

// CHECK-LABEL: @unplaced_scalar
// CHECK-SAME: #tpsp.idx<?>
func.func private @unplaced_scalar(tensor<f32, #tpsp.idx<?>>)

// Decompositions make names with a dot.
// CHECK-LABEL: @dotted_names
// CHECK-SAME: #tpsp.idx<k.in, k.pair@tp>
func.func private @dotted_names(tensor<2x64xf32, #tpsp.idx<k.in, k.pair@tp>>)

// CHECK-LABEL: @argument_attributes
// CHECK-SAME: {tpsp.param = "w"}
// CHECK-SAME: {tpsp.name = "x"}
// CHECK-SAME: {tpsp.param}
func.func private @argument_attributes(
    tensor<4xf32, #tpsp.idx<e@tp>> {tpsp.param = "w"},
    tensor<4xf32, #tpsp.idx<e>> {tpsp.name = "x"},
    tensor<4xf32, #tpsp.idx<e>> {tpsp.param})
