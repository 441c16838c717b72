// The check as the other side: mistakes are planted in the program's own steps
// in f32, and named. TPSP_CHECK_PLANTED asks for more of them.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: tpsp-check %t/layers.mlir --selftest %planted --quiet | FileCheck %s
// RUN: tpsp-check %t/layers.mlir --selftest 20 --quiet --mesh dp=1,tp=4 --dtype bf16 | FileCheck %s --check-prefix=BF16
// CHECK: mistakes planted: {{[0-9]+}} named, {{[0-9]+}} listed, 0 otherwise, 0 unnamed, 0 missed
// BF16: 20 mistakes planted: {{.*}} 0 missed

// A mistake that is planted is a mistake: these dumps are right.
// RUN: tpsp-check %t/layers.mlir --selftest 1 --quiet --mesh dp=1,tp=1 | FileCheck %s --check-prefix=NONE
// NONE: 1 mistakes planted

//--- layers.mlir
tpsp.program <b = 4, s = 8, d = 8, e = 16> {
mesh @mesh <dp = 2 : data, tp = 2 : model>
func private @layer(%x: [b@dp, s@tp, d], param %gain: [d], param %up: [e@tp, d], param %bias: [d], param %down: [d, e@tp]) -> [b@dp, s@tp, d] {
  %n = rms_norm %x, %gain
  %u = einsum %up, %n -> [b, s, e, ?]
  %a = gelu %u
  %z = einsum %down, %a -> [b, s, d, ?]
  %y = add %z, %bias
  %h = add %y, %x
  return %h
}
func @model(%x: [b@dp, s@tp, d]) -> [b@dp, s@tp, d] {
  %y = repeat 2 @layer(%x) as "layer#.*"
  return %y
}
}
