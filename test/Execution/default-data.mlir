// Random parameters have the deviations of initialised models: twelve layers
// neither vanish nor explode.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --function deep --verify | FileCheck %s
// CHECK: {{^}}power {{(0\.[3-9]|[12]\.)}}
// CHECK: all within tolerance

// Every token of a vocabulary of 512 is about equally likely: ln 512 is
// 6.238.
// RUN: tpsp-run %examples/vocab-parallel.mlir | FileCheck %s --check-prefix=LOSS
// LOSS: {{^}}loss 6.2

// A scalar's cotangent is 1: in the sum of b each element's gradient is 1.
// RUN: tpsp-run %s --function biased --grad --quiet --verify --save-all %t.st
// RUN: python3 -c "import struct,sys; d = open(sys.argv[1], 'rb').read(); n = struct.unpack('<Q', d[:8])[0]; h = eval(d[8:8+n]); a, b = h['g[b]']['data_offsets']; print(*struct.unpack('<%%df' %% ((b - a) // 4), d[8+n+a:8+n+b]))" %t.st | FileCheck %s --check-prefix=ONES
// ONES: {{^}}4.0 4.0 4.0 4.0 4.0 4.0 4.0 4.0{{$}}

tpsp.mesh @mesh <tp = 2 : model>
!x = tensor<16x64xf32, #tpsp.idx<s, d>>
!h = tensor<16x64xf32, #tpsp.idx<s, e@tp>>
!w = tensor<64x64xf32, #tpsp.idx<e@tp, d>>
!loss = tensor<f32, #tpsp.idx<>>

func.func private @layer(%x: !x, %w: !w) -> !x {
  %h = tpsp.einsum %w, %x : (!w, !x) -> !h
  %n = tpsp.rename %h : !h -> tensor<16x64xf32, #tpsp.idx<s, d@tp>>
  %y = tpsp.reshard %n : tensor<16x64xf32, #tpsp.idx<s, d@tp>> -> !x
  return %y : !x
}
func.func @deep(%x: !x {tpsp.name = "x"},
    %w0: !w {tpsp.param = "w0"}, %w1: !w {tpsp.param = "w1"}, %w2: !w {tpsp.param = "w2"},
    %w3: !w {tpsp.param = "w3"}, %w4: !w {tpsp.param = "w4"}, %w5: !w {tpsp.param = "w5"},
    %w6: !w {tpsp.param = "w6"}, %w7: !w {tpsp.param = "w7"}, %w8: !w {tpsp.param = "w8"},
    %w9: !w {tpsp.param = "w9"}, %w10: !w {tpsp.param = "w10"}, %w11: !w {tpsp.param = "w11"}) -> !loss {
  %x0 = call @layer(%x, %w0) : (!x, !w) -> !x
  %x1 = call @layer(%x0, %w1) : (!x, !w) -> !x
  %x2 = call @layer(%x1, %w2) : (!x, !w) -> !x
  %x3 = call @layer(%x2, %w3) : (!x, !w) -> !x
  %x4 = call @layer(%x3, %w4) : (!x, !w) -> !x
  %x5 = call @layer(%x4, %w5) : (!x, !w) -> !x
  %x6 = call @layer(%x5, %w6) : (!x, !w) -> !x
  %x7 = call @layer(%x6, %w7) : (!x, !w) -> !x
  %x8 = call @layer(%x7, %w8) : (!x, !w) -> !x
  %x9 = call @layer(%x8, %w9) : (!x, !w) -> !x
  %x10 = call @layer(%x9, %w10) : (!x, !w) -> !x
  %x11 = call @layer(%x10, %w11) : (!x, !w) -> !x
  %square = tpsp.square %x11 : !x
  %power = tpsp.mean %square : (!x) -> !loss
  return %power : !loss
}

!v = tensor<4x8xf32, #tpsp.idx<s, d>>
!b = tensor<8xf32, #tpsp.idx<d>>
func.func @biased(%x: !v {tpsp.name = "x"}, %b: !b {tpsp.param = "b"}) -> !loss {
  %y = tpsp.add %x, %b : (!v, !b) -> !v
  %loss = tpsp.reduce %y : (!v) -> !loss
  return %loss : !loss
}
