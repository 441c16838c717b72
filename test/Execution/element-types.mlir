// f64 as written; f32, bf16 and f16 on request. Sums are in f32 at least.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify --quiet
// RUN: tpsp-run %s --dtype f32 --grad --verify --quiet
// RUN: tpsp-run %s --dtype bf16 --grad --verify --quiet
// RUN: tpsp-run %s --dtype f16 --grad --verify --quiet

tpsp.mesh @mesh <tp = 2 : model>

!x  = tensor<6x8xf64, #tpsp.idx<s@tp, d>>
!x_ = tensor<6x8xf64, #tpsp.idx<s, d, ?>>
!g  = tensor<8xf64, #tpsp.idx<d>>
!w  = tensor<10x8xf64, #tpsp.idx<e@tp, d>>
!y  = tensor<6x10xf64, #tpsp.idx<s, e, ?>>
func.func @f(%x: !x, %g: !g {tpsp.param = "g"}, %w: !w {tpsp.param = "w"}) -> !x {
  %n = tpsp.rms_norm %x, %g : (!x, !g) -> !x_
  %y = tpsp.einsum %w, %n : (!w, !x_) -> !y
  %v = tpsp.tanh %y : !y
  %z = tpsp.einsum %w, %v : (!w, !y) -> !x
  return %z : !x
}
