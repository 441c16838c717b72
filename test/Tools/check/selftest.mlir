// The check as the other side: mistakes are planted in the program's own steps
// in f32, and named. TPSP_CHECK_PLANTED asks for more of them.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: tpsp-check %t/layers.mlir --selftest %planted --quiet | FileCheck %s
// RUN: tpsp-check %t/layers.mlir --selftest 12 --seed 1 --quiet --mesh dp=1,tp=4 --dtype bf16 | FileCheck %s --check-prefix=BF16
// CHECK: {{^}}{{[0-9]+}} mistakes planted: {{[0-9]+}} named, {{[0-9]+}} listed, 0 otherwise, 0 unnamed, 0 missed
// BF16: 12 mistakes planted: {{.*}} 0 missed

// Most mistakes change numbers.
// RUN: tpsp-check %t/layers.mlir --selftest 12 --quiet --seed 5 | FileCheck %s --check-prefix=SEEN
// SEEN: 12 mistakes planted: {{.*}} 0 missed, {{[0-3]}} invisible

// On one rank there is nothing to change, and a right dump has no finding.
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
