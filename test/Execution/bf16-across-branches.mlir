// A sum of bf16 that may have no summand is a bf16 across a branch. LLVM would
// narrow it by a call that the loading process may not have.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify --quiet
// RUN: tpsp-run %s --grad --quiet --emit %t.so
// RUN: tpsp-run %t.so --verify --quiet

!ids = tensor<3xi32, #tpsp.idx<s>>
!x = tensor<3xbf16, #tpsp.idx<s>>
!y = tensor<1xbf16, #tpsp.idx<v>>
func.func @f(%ids: !ids {tpsp.name = "ids"}, %x: !x {tpsp.name = "x"}) -> !y {
  %y = tpsp.one_hot_einsum %ids, %x {indices = ["v"]} : (!ids, !x) -> !y
  return %y : !y
}
