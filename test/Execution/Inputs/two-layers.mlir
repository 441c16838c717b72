// Two transformer layers written as calls of one function, and a norm outside
// of them, under tensor and sequence parallelism.

tpsp.mesh @mesh <tp = 2 : model>

!x    = tensor<2x16x32xf32, #tpsp.idx<b, s@tp, d>>
!x_   = tensor<2x16x32xf32, #tpsp.idx<b, s, d, ?>>
!head = tensor<2x16x4x8xf32, #tpsp.idx<b, s, h, k, ?>>
!past = tensor<2x16x4x8xf32, #tpsp.idx<b, t, h, k, ?>>
!mid  = tensor<2x16x128xf32, #tpsp.idx<b, s, e, ?>>
!gain = tensor<32xf32, #tpsp.idx<d>>
!wqkv = tensor<4x8x32xf32, #tpsp.idx<h@tp, k, d>>
!wo   = tensor<32x4x8xf32, #tpsp.idx<d, h@tp, k>>
!w1   = tensor<128x32xf32, #tpsp.idx<e@tp, d>>
!w2   = tensor<32x128xf32, #tpsp.idx<d, e@tp>>

func.func private @layer(%x: !x, %gain1: !gain, %wq: !wqkv, %wk: !wqkv, %wv: !wqkv,
                         %wo: !wo, %gain2: !gain, %w1: !w1, %w2: !w2) -> !x {
  %xn = tpsp.rms_norm %x, %gain1 : (!x, !gain) -> !x_
  %q  = tpsp.einsum %wq, %xn : (!wqkv, !x_) -> !head
  %k0 = tpsp.einsum %wk, %xn : (!wqkv, !x_) -> !head
  %k  = tpsp.rename %k0 : !head -> !past
  %v0 = tpsp.einsum %wv, %xn : (!wqkv, !x_) -> !head
  %v  = tpsp.rename %v0 : !head -> !past
  %o  = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
          scale = 0.35, causal, dropout = 0.1, seed = 5} : (!head, !past, !past) -> !head
  %a  = tpsp.einsum %wo, %o : (!wo, !head) -> !x_
  %h  = tpsp.add %x, %a : (!x, !x_) -> !x_
  %hn = tpsp.rms_norm %h, %gain2 : (!x_, !gain) -> !x_
  %m1 = tpsp.einsum %w1, %hn : (!w1, !x_) -> !mid
  %m2 = tpsp.gelu %m1 : !mid
  %m  = tpsp.einsum %w2, %m2 : (!w2, !mid) -> !x_
  %z  = tpsp.add %h, %m : (!x_, !x_) -> !x
  return %z : !x
}

func.func @model(
    %x: !x {tpsp.name = "x"},
    %gain1: !gain {tpsp.param = "0.gain1"}, %wq: !wqkv {tpsp.param = "0.wq"},
    %wk: !wqkv {tpsp.param = "0.wk"}, %wv: !wqkv {tpsp.param = "0.wv"},
    %wo: !wo {tpsp.param = "0.wo"}, %gain2: !gain {tpsp.param = "0.gain2"},
    %w1: !w1 {tpsp.param = "0.w1"}, %w2: !w2 {tpsp.param = "0.w2"},
    %gain3: !gain {tpsp.param = "1.gain1"}, %wq1: !wqkv {tpsp.param = "1.wq"},
    %wk1: !wqkv {tpsp.param = "1.wk"}, %wv1: !wqkv {tpsp.param = "1.wv"},
    %wo1: !wo {tpsp.param = "1.wo"}, %gain4: !gain {tpsp.param = "1.gain2"},
    %w11: !w1 {tpsp.param = "1.w1"}, %w21: !w2 {tpsp.param = "1.w2"},
    %gain5: !gain {tpsp.param = "gain"}) -> !x {
  %first = call @layer(%x, %gain1, %wq, %wk, %wv, %wo, %gain2, %w1, %w2)
    : (!x, !gain, !wqkv, !wqkv, !wqkv, !wo, !gain, !w1, !w2) -> !x
  %second = call @layer(%first, %gain3, %wq1, %wk1, %wv1, %wo1, %gain4, %w11, %w21)
    : (!x, !gain, !wqkv, !wqkv, !wqkv, !wo, !gain, !w1, !w2) -> !x
  %z = tpsp.rms_norm %second, %gain5 : (!x, !gain) -> !x
  return %z : !x
}
