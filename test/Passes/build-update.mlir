// The update of parameters: state and numbers become arguments, gradients are
// wanted where the state is, and parameters name their optimizer.
// RUN: tpsp-opt %s --tpsp-build-update="optimizer=adamw optimizer-axes=dp grad=true" | FileCheck %s
// RUN: tpsp-opt %s --tpsp-build-update="optimizer=adamw clip=1 grad=true" | FileCheck %s --check-prefix=CLIP
// RUN: tpsp-opt %s --tpsp-build-update="optimizer=adamw optimizer-axes=dp grad=true" --remarks-filter='tpsp-.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: {{.*}}build-update.mlir:{{[0-9]+}}:14: remark: {{.*}}dp divides no index of 'c' evenly, so every rank of it has its state whole
// State joins the data axes that divide its parameter, so that one collective scatters the gradient along both.
// RUN: sed 's/#tpsp.idx<e@tp, d>/#tpsp.idx<e, d@tp>/' %s | tpsp-opt --tpsp-build-update="optimizer=adamw optimizer-axes=dp grad=true" | FileCheck %s --check-prefix=MODEL
// RUN: sed -e 's/#tpsp.idx<e@tp, d>/#tpsp.idx<e, d@tp>/' -e 's/tp = 2 : model/tp = 2 : data/' %s | tpsp-opt --tpsp-build-update="optimizer=adamw optimizer-axes=dp grad=true" | FileCheck %s --check-prefix=DATA
// MODEL: tpsp.gradient_at = #tpsp.idx<e@dp, d@tp>
// DATA: tpsp.gradient_at = #tpsp.idx<e, d@tp@dp>
// RUN: not tpsp-opt %s --tpsp-build-update="optimizer=adam grad=true" 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: for the --optimizer option: no optimizer is called 'adam': none, adamw, lion, muon or sgd
// RUN: not tpsp-opt %s --tpsp-build-update="optimizer=adamw optimizer-axes=fsdp grad=true" 2>&1 | FileCheck %s --check-prefix=AXIS
// AXIS: error: option 'optimizer-axes' of tpsp-build-update: the mesh has no axis 'fsdp'; its axes are 
// RUN: not tpsp-opt %s --tpsp-build-update="optimizer=adamw optimizer-settings=beta3=1 grad=true" 2>&1 | FileCheck %s --check-prefix=SETTING
// SETTING: build-update.mlir:[[#@LINE+41]]:1: error: --optimizer-settings beta3=1: no optimizer of @f has 'beta3'; adamw has beta1, beta2, epsilon, decay; sgd has momentum, nesterov, decay
// Numbers go to a parameter's own optimizer, too.
// RUN: tpsp-opt %s --tpsp-build-update="optimizer=adamw optimizer-settings=momentum=0.375,beta1=0.625 grad=true" | FileCheck %s --check-prefix=BOTH
// BOTH: func.func @f_update(
// BOTH: tpsp.scale {{.*}} {factor = 6.250000e-01 : f64} : {{.*}}<e@tp, d>
// BOTH: tpsp.scale {{.*}} {factor = 3.750000e-01 : f64} : {{.*}}<k>
// RUN: sed 's/tpsp.optimizer = "sgd", //' %s | not tpsp-opt --tpsp-build-update="optimizer=adamw optimizer-settings=momentum=0.5 grad=true" 2>&1 | FileCheck %s --check-prefix=UNUSED
// UNUSED: no optimizer of @f has 'momentum'; adamw has beta1, beta2, epsilon, decay{{$}}
// RUN: not tpsp-opt %s --tpsp-build-update="optimizer=adamw optimizer-settings=beta2 grad=true" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not tpsp-opt %s --tpsp-build-update="optimizer=adamw optimizer-settings=beta2=1 grad=true" 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: --optimizer-settings beta2=1: 'beta2' of adamw is from 0 to below 1
// RUN: not tpsp-opt %s --tpsp-build-update="optimizer=adamw optimizer-settings=momentum=-0.5 grad=true" 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: --optimizer-settings momentum=-0.5: 'momentum' of sgd is from 0 to below 1
// Near 1 it may be 1 in f32, and a small one 0.
// RUN: not tpsp-opt %s --tpsp-build-update="optimizer=adamw optimizer-settings=beta1=0.9999999999 grad=true" 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: error: --optimizer-settings beta1=0.9999999999: 'beta1' is used in f32, and is 1.{{0*}}e+00 there; give a number of at most 0.9999999
// RUN: not tpsp-opt %s --tpsp-build-update="optimizer=adamw optimizer-settings=epsilon=1e-50 grad=true" 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: --optimizer-settings epsilon=1e-50: 'epsilon' is used in f32, and is 0.{{0*}}e+00 there; give a number of at least 1.2e-38, or 0
// RUN: tpsp-opt %s --tpsp-build-update="optimizer=adamw optimizer-settings=beta1=0.9999999,epsilon=0 grad=true" -o /dev/null
// RUN: tpsp-opt %s --tpsp-set-element-type=dtype=f64 --tpsp-build-update="optimizer=adamw optimizer-settings=beta1=0.9999999999,epsilon=1e-50 grad=true" -o /dev/null
// NUMBER: error: --optimizer-settings beta2: this is not name=number, such as beta2=0.95
// RUN: sed 's/#tpsp.idx<e@tp, d>/#tpsp.idx<e, d | sum@tp>/' %s | not tpsp-opt --tpsp-build-update="optimizer=adamw grad=true" 2>&1 | FileCheck %s --check-prefix=SUM
// SUM: error: parameter 'w' is [e, d | sum@tp], a sum over ranks, which no update can be written to
// RUN: sed 's/"sgd"/"muon"/' %s | not tpsp-opt --tpsp-build-update="optimizer=adamw grad=true" 2>&1 | FileCheck %s --check-prefix=MATRIX
// MATRIX: [[@LINE+19]]:14: error: "muon" trains matrices, and 'c' is none
// RUN: sed 's/tpsp.learning_rate = 0.5/tpsp.learning_rate = -0.5/' %s | not tpsp-opt 2>&1 | FileCheck %s --check-prefix=FACTOR
// FACTOR: tpsp.learning_rate is a factor from 0 with a point, such as 2.0
// RUN: sed 's/"sgd"/"sdg"/' %s | not tpsp-opt --tpsp-build-update="optimizer=adamw grad=true" 2>&1 | FileCheck %s --check-prefix=OWN
// OWN: [[@LINE+15]]:14: error: no optimizer is called 'sdg'; there are adamw, lion, muon, sgd

tpsp.mesh @mesh <dp = 2 : data, tp = 2 : model>

// 3 is not divided by dp, so its state is whole.
// CHECK: func.func @f(
// CHECK-SAME: %arg1: tensor<8x4xbf16, #tpsp.idx<e@tp, d>> {tpsp.gradient_at = #tpsp.idx<e@tp@dp, d>
// CHECK-SAME: %arg4: tensor<8x4xf32, #tpsp.idx<e@tp@dp, d>> {{{[^}]*}}tpsp.name = "master[w]", tpsp.state_of = 1 : i64}
// CHECK-SAME: tpsp.name = "mean[w]"
// CHECK-SAME: tpsp.name = "square[w]"
// CHECK-SAME: tensor<3xf32, #tpsp.idx<k>> {{{[^}]*}}tpsp.name = "momentum[c]"
// CHECK-SAME: tpsp.name = "learning_rate", tpsp.scalar
// CHECK-SAME: tpsp.name = "step", tpsp.scalar
func.func @f(%x: tensor<8x4xbf16, #tpsp.idx<e, d>>,
             %w: tensor<8x4xbf16, #tpsp.idx<e@tp, d>> {tpsp.param = "w"},
             %c: tensor<3xf32, #tpsp.idx<k>> {tpsp.param = "c", tpsp.optimizer = "sgd", tpsp.learning_rate = 0.5},
             %z: tensor<4xf32, #tpsp.idx<d>> {tpsp.param = "z", tpsp.frozen})
    -> tensor<8x4xbf16, #tpsp.idx<e, d>> {
  return %x : tensor<8x4xbf16, #tpsp.idx<e, d>>
}

// CHECK: func.func @f_update(
// CHECK-SAME: {tpsp.gradient_of = 1 : i64, tpsp.name = "g[w]"}
// CHECK-SAME: {tpsp.gradient_of = 2 : i64, tpsp.name = "g[c]"}
// CHECK-SAME: {tpsp.name = "w", tpsp.updates = 1 : i64}
// CHECK-SAME: {tpsp.name = "master[w]", tpsp.updates = 4 : i64}
// CHECK-SAME: tpsp.update_of = @f
// The new weight in 16 bits, then gathered.
// CHECK: %[[W:.*]] = tpsp.convert %{{.*}} : tensor<8x4xf32, #tpsp.idx<e@tp@dp, d>> -> tensor<8x4xbf16, #tpsp.idx<e@tp@dp, d>>
// CHECK-NEXT: tpsp.reshard %[[W]] : tensor<8x4xbf16, #tpsp.idx<e@tp@dp, d>> -> tensor<8x4xbf16, #tpsp.idx<e@tp, d>>
// CHECK: tpsp.scale %arg{{[0-9]+}} {factor = 5.000000e-01 : f64}
// CHECK-NOT: reduce

// One number for each set of axes; a whole tensor is in the norm once.
// CLIP: tpsp.reduce %{{.*}} : tensor<8xf64, #tpsp.idx<e, ?>> -> tensor<f64, #tpsp.idx<| sum@tp>>
// CLIP: tpsp.reduce %{{.*}} : tensor<3xf64, #tpsp.idx<k, ?>> -> tensor<f64, #tpsp.idx<>>
// CLIP: tpsp.reshard %{{.*}} : tensor<f64, #tpsp.idx<| sum@tp>> -> tensor<f64, #tpsp.idx<>>
