// The values that the backward pass keeps of the forward pass, in
// --tpsp-explain and in the plan.
// RUN: tpsp-opt %s --tpsp-print-explanation -o /dev/null | FileCheck %s --strict-whitespace --match-full-lines
// RUN: tpsp-opt %s --tpsp-partition --convert-tpsp-to-plan | FileCheck %s --check-prefix=PLAN

tpsp.mesh @mesh <tp = 4>

!x = tensor<8x16xbf16, #tpsp.idx<s@tp, d>>
!t = tensor<8x16xbf16, #tpsp.idx<t@tp, d>>
!w = tensor<8x16xbf16, #tpsp.idx<s, d>>
!p = tensor<4x16xbf16, #tpsp.idx<e@tp, d>>

// A rank's part of x is 64 bytes, all of it 256. Not saved are parameters,
// cotangents, gradients, and values that the backward pass does not use.
// CHECK-LABEL:views on tp=4
//       CHECK:saved for the backward pass (bytes per rank)
//  CHECK-NEXT:  x[s@tp, d]       x1   64 B
//  CHECK-NEXT:  exp[s@tp, d]     x1   64 B
//  CHECK-NEXT:  x[s, d]          x1  256 B
//  CHECK-NEXT:  square[s@tp, d]  x2  128 B
//  CHECK-NEXT:  total            x5  512 B
// PLAN-LABEL: plan.program @views attributes
// PLAN-SAME: saved_bytes = 512
func.func @views(%x: !x {tpsp.name = "x"}, %p: !x {tpsp.param = "p"},
                 %g: !x {tpsp.cotangent_of = 0, tpsp.name = "g"}) -> (!x, !x) {
  // Used under two names: once.
  %a = tpsp.exp %x : !x
  %b = tpsp.rename %a : !x -> !t
  // Used whole: the gathered tensor.
  %c = tpsp.all_gather %x ["tp"] : !x -> !w
  %d = tpsp.tanh %a : !x
  %e = tpsp.square %d : !x
  %f = tpsp.square %e : !x
  %y = tpsp.neg %f : !x
  %g0 = tpsp.mul %g, %a {tpsp.origin = #tpsp.origin<backward>} : !x
  %g1 = tpsp.rename %g0 {tpsp.origin = #tpsp.origin<backward>} : !x -> !t
  %g2 = tpsp.mul %g1, %b {tpsp.origin = #tpsp.origin<backward>} : !t
  %g3 = tpsp.rename %g2 {tpsp.origin = #tpsp.origin<backward>} : !t -> !x
  %g4 = tpsp.slice %c ["tp"] {tpsp.origin = #tpsp.origin<backward>} : !w -> !x
  %g5 = tpsp.add %g3, %g4, %x, %p, %e, %f {tpsp.origin = #tpsp.origin<backward>} : !x
  return %y, %g5 : !x, !x
}

// Nothing is saved without a backward pass.
// CHECK-LABEL:forward on tp=4
//   CHECK-NOT:saved
// PLAN-LABEL: plan.program @forward attributes
// PLAN-NOT: saved_bytes
func.func @forward(%x: !x) -> !x {
  %y = tpsp.exp %x : !x
  return %y : !x
}
