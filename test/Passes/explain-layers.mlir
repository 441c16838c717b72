// Layers that come again are written once, with what they hand on; only what is
// equal is.
// RUN: tpsp-opt %s --tpsp-explain -o /dev/null | FileCheck %s
// RUN: tpsp-opt %s --tpsp-explain="every-layer" -o /dev/null | FileCheck %s --check-prefix=EVERY --implicit-check-not="  x "
tpsp.mesh @mesh <tp = 2 : model>

!x = tensor<4x8xf32, #tpsp.idx<s@tp, d>>
!y = tensor<4x16xf32, #tpsp.idx<s, e@tp>>
!w = tensor<16x8xf32, #tpsp.idx<e@tp, d>>
!v = tensor<8x16xf32, #tpsp.idx<d, e@tp>>

func.func private @mlp(%x: !x, %w: !w, %v: !v) -> !x {
  %u = tpsp.einsum %w, %x : (!w, !x) -> !y
  %a = tpsp.gelu %u : !y
  %m = tpsp.einsum %v, %a : (!v, !y) -> !x
  %z = tpsp.add %x, %m : !x
  return %z : !x
}

// The last layer has another function of u.
func.func private @last(%x: !x, %w: !w, %v: !v) -> !x {
  %u = tpsp.einsum %w, %x : (!w, !x) -> !y
  %a = tpsp.silu %u : !y
  %m = tpsp.einsum %v, %a : (!v, !y) -> !x
  %z = tpsp.add %x, %m : !x
  return %z : !x
}

func.func @model(%x: !x {tpsp.name = "x"},
                 %w0: !w {tpsp.param = "w0"}, %v0: !v {tpsp.param = "v0"},
                 %w1: !w {tpsp.param = "w1"}, %v1: !v {tpsp.param = "v1"},
                 %w2: !w {tpsp.param = "w2"}, %v2: !v {tpsp.param = "v2"},
                 %w3: !w {tpsp.param = "w3"}, %v3: !v {tpsp.param = "v3"}) -> !x {
  %one = call @mlp(%x, %w0, %v0) : (!x, !w, !v) -> !x
  %two = call @mlp(%one, %w1, %v1) : (!x, !w, !v) -> !x
  %three = call @mlp(%two, %w2, %v2) : (!x, !w, !v) -> !x
  %four = call @last(%three, %w3, %v3) : (!x, !w, !v) -> !x
  return %four : !x
}
