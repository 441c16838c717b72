// A program without kernels, since the doubles cannot compile a plan's PTX.
tpsp.mesh @mesh <tp = 4 : model>
!x  = tensor<2x16x24xf32,  #tpsp.idx<b, s@tp, d>>
!w0 = tensor<48x24xf32,   #tpsp.idx<e@tp, d>>
!w1 = tensor<24x48xf32,   #tpsp.idx<d, e@tp>>
func.func @mlp(%x: !x, %w0: !w0 {tpsp.param}, %w1: !w1 {tpsp.param}) -> !x {
  %y = tpsp.einsum %w0, %x : (!w0, !x) -> tensor<2x16x48xf32, #tpsp.idx<b, s, e@tp>>
  %z = tpsp.einsum %w1, %y : (!w1, tensor<2x16x48xf32, #tpsp.idx<b, s, e@tp>>) -> !x
  return %z : !x
}
