// A language model with a vocabulary-parallel embedding, a tied head and a
// cross-entropy loss: the table is sharded along the vocabulary, activations
// along the sequence, and the logits never leave their rank.
//
//   tpsp-opt examples/vocab-parallel.mlir --tpsp-explain
//   tpsp-run examples/vocab-parallel.mlir --grad --verify

tpsp.mesh @mesh <tp = 4 : model>

!ids    = tensor<2x64xi32, #tpsp.idx<b, s>>
!table  = tensor<512x128xf32, #tpsp.idx<v@tp, d>>
!x      = tensor<2x64x128xf32, #tpsp.idx<b, s@tp, d>>  // between layers
!x_     = tensor<2x64x128xf32, #tpsp.idx<b, s, d, ?>>
!mid    = tensor<2x64x256xf32, #tpsp.idx<b, s, e, ?>>
!gain   = tensor<128xf32, #tpsp.idx<d>>
!up     = tensor<256x128xf32, #tpsp.idx<e@tp, d>>
!down   = tensor<128x256xf32, #tpsp.idx<d, e@tp>>
!logits = tensor<2x64x512xf32, #tpsp.idx<b, s, v, ?>>
!token  = tensor<2x64xf32, #tpsp.idx<b, s, ?>>
!loss   = tensor<f32, #tpsp.idx<>>

func.func @model(
    %ids: !ids {tpsp.name = "ids"}, %targets: !ids {tpsp.name = "targets"},
    %table: !table {tpsp.param = "table"},
    %gain0: !gain {tpsp.param = "gain0"}, %up0: !up {tpsp.param = "up0"}, %down0: !down {tpsp.param = "down0"},
    %gain1: !gain {tpsp.param = "gain1"}, %up1: !up {tpsp.param = "up1"}, %down1: !down {tpsp.param = "down1"},
    %gain2: !gain {tpsp.param = "gain2"}) -> !loss {
  %x = tpsp.embedding %ids, %table {vocabulary = "v"} : (!ids, !table) -> !x

  %n0 = tpsp.rms_norm %x, %gain0 : (!x, !gain) -> !x_
  %u0 = tpsp.einsum %up0, %n0 : (!up, !x_) -> !mid
  %a0 = tpsp.gelu %u0 : !mid
  %f0 = tpsp.einsum %down0, %a0 : (!down, !mid) -> !x_
  %y  = tpsp.add %x, %f0 : (!x, !x_) -> !x

  %n1 = tpsp.rms_norm %y, %gain1 : (!x, !gain) -> !x_
  %u1 = tpsp.einsum %up1, %n1 : (!up, !x_) -> !mid
  %a1 = tpsp.gelu %u1 : !mid
  %f1 = tpsp.einsum %down1, %a1 : (!down, !mid) -> !x_
  %z  = tpsp.add %y, %f1 : (!x, !x_) -> !x

  %n2     = tpsp.rms_norm %z, %gain2 : (!x, !gain) -> !x_
  %logits = tpsp.einsum %table, %n2 : (!table, !x_) -> !logits
  %token  = tpsp.cross_entropy %logits, %targets {over = "v"} : (!logits, !ids) -> !token
  %loss   = tpsp.mean %token : (!token) -> !loss
  return %loss : !loss
}
