// RUN: tpsp-opt %s --convert-tpsp-to-plan | FileCheck %s

// A kernel for a number has one item. Operations on whole tensors that read the
// number do not join it: all of a tensor would be one item.
tpsp.mesh @mesh <cp = 4>
!p = tensor<1xf32, #tpsp.idx<p@cp, local>>
!x = tensor<1x16x8xf32, #tpsp.idx<p@cp, s, d, local>>
// CHECK: plan.kernel @{{[a-z0-9_]*}}iota{{[a-z0-9_]*}}({{.*}}{grid = 1 :
// CHECK: plan.kernel @{{[a-z0-9_]*}}mul({{.*}}{grid = 16 :
func.func @f(%x: !x) -> !x {
  %place = tpsp.iota {index = "p"} : () -> !p
  %number = tpsp.shift %place {by = 1.0} : !p
  %y = tpsp.mul %x, %number : (!x, !p) -> !x
  return %y : !x
}
