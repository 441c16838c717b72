// Two mixture-of-experts layers under expert parallelism: tokens are sharded in
// groups (g), experts (e) over the same axis, and each expert's hidden index (f)
// over tp. Every expert has c slots for the tokens of a group; what finds none
// is dropped. Which tokens go where does not depend on the mesh.
//
//   tpsp-opt examples/moe-ep.mlir --tpsp-explain
//   tpsp-run examples/moe-ep.mlir --grad --verify
//   tpsp-run examples/moe-ep.mlir --mesh ep=4,tp=1 --grad --verify

tpsp.mesh @mesh <ep = 2 : model, tp = 2 : model>

!x    = tensor<8x32x128xf32, #tpsp.idx<g@ep, s, d>>
!x_   = tensor<8x32x128xf32, #tpsp.idx<g, s, d, ?>>
!gain = tensor<128xf32, #tpsp.idx<d>>
!gate = tensor<8x128xf32, #tpsp.idx<e, d>>
!up   = tensor<8x256x128xf32, #tpsp.idx<e@ep, f@tp, d>>
!down = tensor<8x128x256xf32, #tpsp.idx<e@ep, d, f@tp>>

!score  = tensor<8x32x8xf32, #tpsp.idx<g, s, e, ?>>
!choice = tensor<8x32x2xi32, #tpsp.idx<g, s, k, ?>>
!weight = tensor<8x32x2xf32, #tpsp.idx<g, s, k, ?>>
!slots  = tensor<8x8x12x128xf32, #tpsp.idx<e@ep, g, c, d>>     // at the experts
!mid    = tensor<8x8x12x256xf32, #tpsp.idx<e, g, c, f, ?>>
!slots_ = tensor<8x8x12x128xf32, #tpsp.idx<e, g, c, d, ?>>

func.func private @layer(%x: !x, %gain: !gain, %gate: !gate, %up: !up, %down: !down) -> !x {
  %n = tpsp.rms_norm %x, %gain : (!x, !gain) -> !x_
  // Router: the two experts with the highest scores, weighted by a softmax.
  %score  = tpsp.einsum %gate, %n : (!gate, !x_) -> !score
  %choice = tpsp.router %score {expert = "e", choice = "k"} : (!score) -> !choice
  %best   = tpsp.one_hot_einsum %choice, %score {indices = ["e"]} : (!choice, !score) -> !weight
  %weight = tpsp.softmax %best {over = "k"} : !weight
  // Tokens to experts, experts, and back.
  %y = tpsp.dispatch %choice, %n {expert = "e", slot = "c", choice = "k"} : (!choice, !x_) -> !slots
  %u = tpsp.einsum %up, %y : (!up, !slots) -> !mid
  %a = tpsp.silu %u : !mid
  %v = tpsp.einsum %down, %a : (!down, !mid) -> !slots_
  %m = tpsp.combine %choice, %weight, %v {expert = "e", slot = "c", choice = "k"} : (!choice, !weight, !slots_) -> !x_
  %z = tpsp.add %x, %m : (!x, !x_) -> !x
  return %z : !x
}

func.func @model(
    %x: !x {tpsp.name = "x"},
    %gain0: !gain {tpsp.param = "gain0"}, %gate0: !gate {tpsp.param = "gate0"},
    %up0: !up {tpsp.param = "up0"}, %down0: !down {tpsp.param = "down0"},
    %gain1: !gain {tpsp.param = "gain1"}, %gate1: !gate {tpsp.param = "gate1"},
    %up1: !up {tpsp.param = "up1"}, %down1: !down {tpsp.param = "down1"}) -> !x {
  %y = func.call @layer(%x, %gain0, %gate0, %up0, %down0) : (!x, !gain, !gate, !up, !down) -> !x
  %z = func.call @layer(%y, %gain1, %gate1, %up1, %down1) : (!x, !gain, !gate, !up, !down) -> !x
  return %z : !x
}
