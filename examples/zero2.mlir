// ZeRO-2: the batch divided over dp, and so are the matrices as the optimizer
// has them. A reshard gathers each matrix once a step, for both passes; its
// gradient is a sum over dp, wanted where the matrix is: a reduce-scatter. As
// many bytes as data parallelism. Gains and biases stay whole.
//
//   tpsp-opt examples/zero2.mlir --tpsp-explain
//   tpsp-run examples/zero2.mlir --grad --verify

tpsp.mesh @mesh <dp = 4 : data>

!x    = tensor<8x64x128xf32, #tpsp.idx<b@dp, s, d>>
!x_   = tensor<8x64x128xf32, #tpsp.idx<b, s, d, ?>>
!head = tensor<8x64x8x16xf32, #tpsp.idx<b, s, h, k, ?>>
!past = tensor<8x64x8x16xf32, #tpsp.idx<b, t, h, k, ?>>
!mid  = tensor<8x64x512xf32, #tpsp.idx<b, s, e, ?>>

!vec  = tensor<128xf32, #tpsp.idx<d>>
!b1   = tensor<512xf32, #tpsp.idx<e>>

// As they are stored, and as they are used.
!wqkv  = tensor<8x16x128xf32, #tpsp.idx<h@dp, k, d>>
!wqkv_ = tensor<8x16x128xf32, #tpsp.idx<h, k, d>>
!wo    = tensor<128x8x16xf32, #tpsp.idx<d, h@dp, k>>
!wo_   = tensor<128x8x16xf32, #tpsp.idx<d, h, k>>
!w1    = tensor<512x128xf32, #tpsp.idx<e@dp, d>>
!w1_   = tensor<512x128xf32, #tpsp.idx<e, d>>
!w2    = tensor<128x512xf32, #tpsp.idx<d, e@dp>>
!w2_   = tensor<128x512xf32, #tpsp.idx<d, e>>

func.func private @layer(
    %x: !x, %gain1: !vec, %wq_s: !wqkv, %wk_s: !wqkv, %wv_s: !wqkv, %wo_s: !wo,
    %gain2: !vec, %w1_s: !w1, %b1: !b1, %w2_s: !w2, %b2: !vec) -> !x {
  // Gathered once, for both passes.
  %wq = tpsp.reshard %wq_s : !wqkv -> !wqkv_
  %wk = tpsp.reshard %wk_s : !wqkv -> !wqkv_
  %wv = tpsp.reshard %wv_s : !wqkv -> !wqkv_
  %wo = tpsp.reshard %wo_s : !wo -> !wo_
  %w1 = tpsp.reshard %w1_s : !w1 -> !w1_
  %w2 = tpsp.reshard %w2_s : !w2 -> !w2_

  // Attention.
  %xn = tpsp.rms_norm %x, %gain1 : (!x, !vec) -> !x_
  %q  = tpsp.einsum %wq, %xn : (!wqkv_, !x_) -> !head
  %k0 = tpsp.einsum %wk, %xn : (!wqkv_, !x_) -> !head
  %k  = tpsp.rename %k0 : !head -> !past
  %v0 = tpsp.einsum %wv, %xn : (!wqkv_, !x_) -> !head
  %v  = tpsp.rename %v0 : !head -> !past
  %o  = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
          scale = 0.25, causal} : (!head, !past, !past) -> !head
  %a  = tpsp.einsum %wo, %o : (!wo_, !head) -> !x_
  %h  = tpsp.add %x, %a : (!x, !x_) -> !x_

  // MLP.
  %hn = tpsp.rms_norm %h, %gain2 : (!x_, !vec) -> !x_
  %m0 = tpsp.einsum %w1, %hn : (!w1_, !x_) -> !mid
  %m1 = tpsp.add %m0, %b1 : (!mid, !b1) -> !mid
  %m2 = tpsp.gelu %m1 : !mid
  %m3 = tpsp.einsum %w2, %m2 : (!w2_, !mid) -> !x_
  %m  = tpsp.add %m3, %b2 : (!x_, !vec) -> !x_
  %z  = tpsp.add %h, %m : (!x_, !x_) -> !x
  return %z : !x
}

func.func @model(
    %x: !x {tpsp.name = "x"},
    %gain1_0: !vec {tpsp.param = "layer0.gain1"},
    %wq_0: !wqkv {tpsp.param = "layer0.wq"},
    %wk_0: !wqkv {tpsp.param = "layer0.wk"},
    %wv_0: !wqkv {tpsp.param = "layer0.wv"},
    %wo_0: !wo {tpsp.param = "layer0.wo"},
    %gain2_0: !vec {tpsp.param = "layer0.gain2"},
    %w1_0: !w1 {tpsp.param = "layer0.w1"},
    %b1_0: !b1 {tpsp.param = "layer0.b1"},
    %w2_0: !w2 {tpsp.param = "layer0.w2"},
    %b2_0: !vec {tpsp.param = "layer0.b2"},
    %gain1_1: !vec {tpsp.param = "layer1.gain1"},
    %wq_1: !wqkv {tpsp.param = "layer1.wq"},
    %wk_1: !wqkv {tpsp.param = "layer1.wk"},
    %wv_1: !wqkv {tpsp.param = "layer1.wv"},
    %wo_1: !wo {tpsp.param = "layer1.wo"},
    %gain2_1: !vec {tpsp.param = "layer1.gain2"},
    %w1_1: !w1 {tpsp.param = "layer1.w1"},
    %b1_1: !b1 {tpsp.param = "layer1.b1"},
    %w2_1: !w2 {tpsp.param = "layer1.w2"},
    %b2_1: !vec {tpsp.param = "layer1.b2"}) -> !x {
  %layer0 = call @layer(%x, %gain1_0, %wq_0, %wk_0, %wv_0, %wo_0,
                        %gain2_0, %w1_0, %b1_0, %w2_0, %b2_0)
      : (!x, !vec, !wqkv, !wqkv, !wqkv, !wo, !vec, !w1, !b1, !w2, !vec) -> !x
  %layer1 = call @layer(%layer0, %gain1_1, %wq_1, %wk_1, %wv_1, %wo_1,
                        %gain2_1, %w1_1, %b1_1, %w2_1, %b2_1)
      : (!x, !vec, !wqkv, !wqkv, !wqkv, !wo, !vec, !w1, !b1, !w2, !vec) -> !x
  return %layer1 : !x
}
