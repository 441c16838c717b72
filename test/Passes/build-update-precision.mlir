// The update and the function with a loss scale, a type for reducing gradients,
// and a place for gathering.
// RUN: tpsp-opt %s --tpsp-build-update="optimizer=sgd clip=1 loss-scale=dynamic:1024 loss-scale-window=7 grad=true" | FileCheck %s --check-prefix=DYNAMIC
// RUN: tpsp-opt %s --tpsp-build-update="optimizer=sgd loss-scale=256 grad=true" | FileCheck %s --check-prefix=FIXED
// RUN: tpsp-opt %s --tpsp-build-update="optimizer=sgd reduce-dtype=f32 grad=true" | FileCheck %s --check-prefix=WIDE
// RUN: tpsp-opt %s --tpsp-build-update="optimizer=sgd optimizer-axes=dp gather-parameters=forward grad=true" | FileCheck %s --check-prefix=FORWARD
// RUN: not tpsp-opt %s --tpsp-build-update="optimizer=adamw loss-scale=0.5 grad=true" 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: error: option 'loss-scale' of tpsp-build-update: '0.5' is not none, a number from 1 to 2^30, dynamic or dynamic:1024
// RUN: not tpsp-opt %s --tpsp-build-update="optimizer=adamw loss-scale=dynamic:x grad=true" 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: 'dynamic:x' is not none
// RUN: not tpsp-opt %s --tpsp-build-update="optimizer=adamw loss-scale=65536 grad=true" 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: build-update-precision.mlir:[[#@LINE+22]]:1: error: --loss-scale 65536: gradients begin in 'f16', which holds at most 65504, so every step would be skipped; give less, or dynamic
// RUN: tpsp-opt %s --tpsp-build-update="optimizer=adamw loss-scale=dynamic:65536 grad=true" -o /dev/null
// RUN: sed s/f16/bf16/g %s | tpsp-opt --tpsp-build-update="optimizer=adamw loss-scale=65536 grad=true" -o /dev/null
// RUN: not tpsp-opt %s --tpsp-build-update="optimizer=adamw reduce-dtype=i8 grad=true" 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: for the --reduce-dtype option: no reduce-dtype is called 'i8': f32, bf16 or f16
// RUN: not tpsp-opt %s --tpsp-build-update="optimizer=adamw gather-parameters=later grad=true" 2>&1 | FileCheck %s --check-prefix=GATHER
// GATHER: for the --gather-parameters option: no gather-parameters is called 'later': update or forward

tpsp.mesh @mesh <dp = 2 : data>

// Random operations use the step's number.
// DYNAMIC: func.func @f(
// DYNAMIC-SAME: %[[STEP:arg[0-9]+]]: tensor<f32, #tpsp.idx<>> {{{[^}]*}}tpsp.name = "step"
// DYNAMIC-SAME: tpsp.mean = 0.000000e+00 : f64, tpsp.name = "updates", tpsp.state_of = -1 : i64
// DYNAMIC-SAME: tpsp.mean = 1.024000e+03 : f64, tpsp.name = "loss_scale", tpsp.state_of = -1 : i64
// DYNAMIC-SAME: tpsp.name = "good_steps", tpsp.state_of = -1 : i64
// DYNAMIC: tpsp.dropout %{{.*}}, %[[STEP]]

// FORWARD: func.func @f(
// FORWARD-SAME: %[[W:arg1]]: tensor<8x4xf16, #tpsp.idx<e@dp, d>> {tpsp.gradient_at = #tpsp.idx<e@dp, d>, tpsp.param = "w"}
// FORWARD: %[[WHOLE:.*]] = tpsp.reshard %[[W]] : tensor<8x4xf16, #tpsp.idx<e@dp, d>> -> tensor<8x4xf16, #tpsp.idx<e, d>>
// FORWARD: tpsp.einsum %{{.*}}, %[[WHOLE]]
func.func @f(%x: tensor<4x8xf16, #tpsp.idx<b@dp, e>>,
             %w: tensor<8x4xf16, #tpsp.idx<e, d>> {tpsp.param = "w"})
    -> tensor<4x4xf16, #tpsp.idx<b@dp, d>> {
  %y = tpsp.einsum %x, %w : (tensor<4x8xf16, #tpsp.idx<b@dp, e>>, tensor<8x4xf16, #tpsp.idx<e, d>>) -> tensor<4x4xf16, #tpsp.idx<b@dp, d>>
  %z = tpsp.dropout %y {rate = 0.5} : tensor<4x4xf16, #tpsp.idx<b@dp, d>>
  return %z : tensor<4x4xf16, #tpsp.idx<b@dp, d>>
}

// The norm is divided by the scale, and says whether the step is done.
// DYNAMIC: func.func @f_update(
// DYNAMIC-SAME: tpsp.loss_scale = 7 : i64
// DYNAMIC: tpsp.sqrt
// DYNAMIC: tpsp.div %{{.*}} : tensor<f64
// DYNAMIC: %[[D:.*]] = tpsp.sub %[[N:.*]], %[[N]]
// DYNAMIC: tpsp.compare %[[D]], %[[D]] {is = "equal"}
// DYNAMIC: tpsp.shift %{{.*}} {by = -7.000000e+00 : f64}
// DYNAMIC: tpsp.compare {{.*}} {is = "greater_equal"}
// Doubled only if twice as much is at most 65504, which f16 holds.
// DYNAMIC: tpsp.shift %{{.*}} {by = -3.275200e+04 : f64}
// DYNAMIC: tpsp.compare {{.*}} {is = "less_equal"}
// DYNAMIC: tpsp.mul
// DYNAMIC: tpsp.select
// Weight and momentum stay if it is not.
// DYNAMIC-COUNT-2: tpsp.select %{{.*}} -> tensor<8x4xf32, #tpsp.idx<e, d>>

// FIXED: func.func @f_update(
// FIXED-SAME: tpsp.loss_scale = 2.560000e+02 : f64
// FIXED: tpsp.scale %{{.*}} {factor = 3.906250e-03 : f64}

// WIDE: func.func @f_update(
// WIDE-SAME: tensor<8x4xf32, #tpsp.idx<e, d>> {tpsp.gradient_of = 1 : i64, tpsp.name = "g[w]"}

// Nothing is gathered at the end.
// FORWARD: func.func @f_update(
// FORWARD-NOT: reshard
