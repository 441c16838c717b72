// A weight that is wanted whole and is converted, scaled or multiplied before
// its use. Its gradient is reduce-scattered before it passes back through that,
// not all-reduced and sliced after it.
// DEFINE: %{mesh} = fsdp=4
// DEFINE: %{function} = convert
// DEFINE: %{ledger} = tpsp-run %s --grad --verify --bucket-mib 0 --function %{function} --mesh %{mesh} | FileCheck %s --implicit-check-not=all_reduce --implicit-check-not=slice
// REDEFINE: %{function} = convert
// REDEFINE: %{mesh} = fsdp=4
// RUN: %{ledger}
// REDEFINE: %{function} = convert
// REDEFINE: %{mesh} = fsdp=2
// RUN: %{ledger}
// REDEFINE: %{function} = scale
// REDEFINE: %{mesh} = fsdp=4
// RUN: %{ledger}
// REDEFINE: %{function} = scale
// REDEFINE: %{mesh} = fsdp=2
// RUN: %{ledger}
// REDEFINE: %{function} = both
// REDEFINE: %{mesh} = fsdp=4
// RUN: %{ledger}
// REDEFINE: %{function} = both
// REDEFINE: %{mesh} = fsdp=2
// RUN: %{ledger}
// REDEFINE: %{function} = norm
// REDEFINE: %{mesh} = fsdp=4
// RUN: %{ledger}
// REDEFINE: %{function} = norm
// REDEFINE: %{mesh} = fsdp=2
// RUN: %{ledger}
// REDEFINE: %{function} = gain
// REDEFINE: %{mesh} = fsdp=4
// RUN: %{ledger}
// REDEFINE: %{function} = gain
// REDEFINE: %{mesh} = fsdp=2
// RUN: %{ledger}
// Parameters in f32 are gathered in bf16: 64 x 128 of 2 bytes, three quarters
// of it from others; a gain goes with its weight. Their gradients are reduced
// in f32, or in the requested type.
// DEFINE: %{reduced} = 24.0
// DEFINE: %{bytes} = tpsp-run %s --grad --function %{function} --simulate --hardware h100-sxm | FileCheck %s --check-prefix=BYTES -DREDUCED=%{reduced}
// REDEFINE: %{function} = convert
// RUN: %{bytes}
// REDEFINE: %{function} = both
// RUN: %{bytes}
// REDEFINE: %{function} = scale
// REDEFINE: %{reduced} = 12.0
// RUN: %{bytes}
// BYTES: forward   all_gather      fsdp     d         12.0 KiB
// BYTES: backward  reduce_scatter  fsdp     d         [[REDUCED]] KiB
// BYTES: forward   all_gather      x1       12.0 KiB
// RUN: tpsp-run %s --grad --function both --reduce-dtype bf16 --simulate --hardware h100-sxm | FileCheck %s --check-prefix=HALVES
// HALVES: backward  reduce_scatter  fsdp     d         12.0 KiB
// With the options that move collectives.
// RUN: tpsp-run %s --grad --verify --quiet --function both --overlap on --micro-batches 2

// CHECK: forward   all_gather
// CHECK: backward  reduce_scatter  fsdp     d
// CHECK: all within tolerance

tpsp.mesh @mesh <fsdp = 4 : data>
!x = tensor<8x16x64xbf16, #tpsp.idx<b@fsdp, s, d>>
!y = tensor<8x16x128xbf16, #tpsp.idx<b@fsdp, s, e>>
!w = tensor<64x128xf32, #tpsp.idx<d@fsdp, e>>
!ww = tensor<64x128xf32, #tpsp.idx<d, e>>
!wb = tensor<64x128xbf16, #tpsp.idx<d, e>>
!wbs = tensor<64x128xbf16, #tpsp.idx<d@fsdp, e>>
// FSDP with f32 parameters and bf16 products.
func.func @convert(%x: !x, %w: !w {tpsp.param}) -> !y {
  %a = tpsp.reshard %w : !w -> !ww
  %b = tpsp.convert %a : !ww -> !wb
  %y = tpsp.einsum %x, %b : (!x, !wb) -> !y
  return %y : !y
}
func.func @scale(%x: !x, %w: !wbs {tpsp.param}) -> !y {
  %a = tpsp.reshard %w : !wbs -> !wb
  %b = tpsp.scale %a {factor = 0.5} : !wb
  %y = tpsp.einsum %x, %b : (!x, !wb) -> !y
  return %y : !y
}
func.func @both(%x: !x, %w: !w {tpsp.param}) -> !y {
  %a = tpsp.reshard %w : !w -> !ww
  %b = tpsp.convert %a : !ww -> !wb
  %c = tpsp.scale %b {factor = 0.5} : !wb
  %y = tpsp.einsum %x, %c : (!x, !wb) -> !y
  return %y : !y
}
!g = tensor<64xf32, #tpsp.idx<d@fsdp>>
!gw = tensor<64xf32, #tpsp.idx<d>>
!gb = tensor<64xbf16, #tpsp.idx<d>>
func.func @norm(%x: !x, %g: !g {tpsp.param}) -> !x {
  %a = tpsp.reshard %g : !g -> !gw
  %b = tpsp.convert %a : !gw -> !gb
  %c = tpsp.scale %b {factor = 0.5} : !gb
  %y = tpsp.rms_norm %x, %c : (!x, !gb) -> !x
  return %y : !x
}
func.func @gain(%x: !x, %w: !w {tpsp.param}, %gain: !g {tpsp.param}) -> !y {
  %a = tpsp.reshard %w : !w -> !ww
  %h = tpsp.reshard %gain : !g -> !gw
  %s = tpsp.mul %a, %h : (!ww, !gw) -> !ww
  %b = tpsp.convert %s : !ww -> !wb
  %y = tpsp.einsum %x, %b : (!x, !wb) -> !y
  return %y : !y
}
