// The gradient of an unused parameter is zero, in the type in which gradients
// are summed.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify --quiet --optimizer adamw
// RUN: tpsp-run %s --grad --verify --quiet --optimizer adamw --reduce-dtype f32
// RUN: tpsp-run %s --grad --verify --quiet --reduce-dtype bf16
func.func @f(%x: tensor<2xf16, #tpsp.idx<c>>, %w: tensor<2xf16, #tpsp.idx<c>> {tpsp.param}) -> (tensor<2xf16, #tpsp.idx<c, ?>>) {
  %v6 = tpsp.exp %x : (tensor<2xf16, #tpsp.idx<c>>) -> tensor<2xf16, #tpsp.idx<c, ?>>
  return %v6 : tensor<2xf16, #tpsp.idx<c, ?>>
}
