// FSDP whose weights are wanted whole, and are then scaled, converted, both in
// either order, or multiplied by a norm's gain. Each gradient is reduced by one
// reduce-scatter, in f32, as its parameter is, or in --reduce-dtype: nothing is
// reduced whole and sliced. (w1, w2 and w3 have one gradient but for a factor.)
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: tpsp-run %s --grad --reduce-dtype bf16 | FileCheck %s --check-prefix=NARROW
// CHECK-NOT: all_reduce
// CHECK: backward reduce_scatter fsdp d 96 B g[gain16]
// CHECK-NOT: all_reduce
// CHECK: Totals
// CHECK-NEXT: forward all_gather x7 18.1 KiB
// CHECK-NEXT: backward reduce_scatter x5 18.2 KiB
// CHECK-NOT: x{{[0-9]}}
// CHECK: all within tolerance
// NARROW: backward reduce_scatter fsdp d 48 B g[gain16]
// NARROW: backward reduce_scatter x5 9.1 KiB

tpsp.mesh @mesh <fsdp = 4 : data>

!x = tensor<8x17x32xbf16, #tpsp.idx<b@fsdp, s, d>>
!y = tensor<8x17x64xbf16, #tpsp.idx<b@fsdp, s, e>>
!ws = tensor<64x32xf32, #tpsp.idx<e@fsdp, d>>
!w = tensor<64x32xf32, #tpsp.idx<e, d>>
!w16 = tensor<64x32xbf16, #tpsp.idx<e, d>>
!gs = tensor<32xf32, #tpsp.idx<d@fsdp>>
!g = tensor<32xf32, #tpsp.idx<d>>
!g16 = tensor<32xbf16, #tpsp.idx<d>>

func.func @model(
    %x: !x {tpsp.name = "x"}, %w0: !ws {tpsp.param = "w0"},
    %w1: !ws {tpsp.param = "w1"}, %w2: !ws {tpsp.param = "w2"},
    %w3: !ws {tpsp.param = "w3"}, %w4: !ws {tpsp.param = "w4"},
    %g0: !gs {tpsp.param = "g0"}, %g1: !gs {tpsp.param = "g1"}) -> !y {
  // Converted, after a norm whose gain is converted, too.
  %whole0 = tpsp.reshard %w0 : !ws -> !w
  %narrow0 = tpsp.convert %whole0 : !w -> !w16
  %gain = tpsp.reshard %g0 : !gs -> !g
  %gain16 = tpsp.convert %gain : !g -> !g16
  %xn = tpsp.rms_norm %x, %gain16 : (!x, !g16) -> !x
  %y0 = tpsp.einsum %narrow0, %xn : (!w16, !x) -> !y

  // Scaled, then converted.
  %whole1 = tpsp.reshard %w1 : !ws -> !w
  %scaled1 = tpsp.scale %whole1 {factor = 0.5} : !w
  %narrow1 = tpsp.convert %scaled1 : !w -> !w16
  %y1 = tpsp.einsum %narrow1, %x : (!w16, !x) -> !y

  // Converted, then scaled.
  %whole2 = tpsp.reshard %w2 : !ws -> !w
  %narrow2 = tpsp.convert %whole2 : !w -> !w16
  %scaled2 = tpsp.scale %narrow2 {factor = 0.5} : !w16
  %y2 = tpsp.einsum %scaled2, %x : (!w16, !x) -> !y

  // Twice scaled.
  %whole3 = tpsp.reshard %w3 : !ws -> !w
  %scaled3 = tpsp.scale %whole3 {factor = 0.5} : !w
  %again3 = tpsp.scale %scaled3 {factor = 3.0} : !w
  %narrow3 = tpsp.convert %again3 : !w -> !w16
  %y3 = tpsp.einsum %narrow3, %x : (!w16, !x) -> !y

  // Multiplied by a gain in f32: both are gathered in 32 bits.
  %whole4 = tpsp.reshard %w4 : !ws -> !w
  %gain4 = tpsp.reshard %g1 : !gs -> !g
  %product4 = tpsp.mul %whole4, %gain4 : (!w, !g) -> !w
  %narrow4 = tpsp.convert %product4 : !w -> !w16
  %y4 = tpsp.einsum %narrow4, %x : (!w16, !x) -> !y

  %a = tpsp.add %y0, %y1 : (!y, !y) -> !y
  %b = tpsp.add %y2, %y3 : (!y, !y) -> !y
  %c = tpsp.add %a, %b : (!y, !y) -> !y
  %y = tpsp.add %c, %y4 : (!y, !y) -> !y
  return %y : !y
}
