// The MLP of a transformer under tensor and sequence parallelism: activations
// between blocks are sharded along the sequence, weights along the hidden index.
//
//   tpsp-opt examples/mlp-sp.mlir --tpsp-explain
//   tpsp-run examples/mlp-sp.mlir --grad --verify

tpsp.mesh @mesh <tp = 4 : model>

!x  = tensor<2x128x256xf32, #tpsp.idx<b, s@tp, d>>
!y  = tensor<2x128x1024xf32, #tpsp.idx<b, s, e, ?>>
!w0 = tensor<1024x256xf32, #tpsp.idx<e@tp, d>>
!w1 = tensor<256x1024xf32, #tpsp.idx<d, e@tp>>

func.func @mlp(%x: !x {tpsp.name = "x"},
               %w0: !w0 {tpsp.param = "w0"},
               %w1: !w1 {tpsp.param = "w1"}) -> !x {
  %y = tpsp.einsum %w0, %x : (!w0, !x) -> !y
  %v = tpsp.gelu %y : !y
  %z = tpsp.einsum %w1, %v : (!w1, !y) -> !x
  return %z : !x
}
