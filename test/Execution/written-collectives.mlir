// A program may contain collectives; the reference knows that they change no
// value.
// RUN: tpsp-run %s --verify --quiet
// RUN: tpsp-run %s --verify --quiet --dtype bf16

tpsp.mesh @mesh <tp = 4 : model>
!s = tensor<8x12xf32, #tpsp.idx<s@tp, d>>
!g = tensor<8x12xf32, #tpsp.idx<s, d>>
!w = tensor<16x12xf32, #tpsp.idx<e@tp, d>>
!e = tensor<8x16xf32, #tpsp.idx<s, e@tp>>
!v = tensor<12x16xf32, #tpsp.idx<d, e@tp>>
!p = tensor<8x12xf32, #tpsp.idx<s, d | sum@tp>>
func.func @f(%x: !s {tpsp.name = "x"}, %w: !w {tpsp.param = "w"}, %v: !v {tpsp.param = "v"}) -> !s {
  %g = tpsp.all_gather %x ["tp"] : !s -> !g
  %h = tpsp.einsum %w, %g : (!w, !g) -> !e
  %a = tpsp.gelu %h : !e
  %p = tpsp.einsum %v, %a : (!v, !e) -> !p
  %y = tpsp.reduce_scatter %p ["tp"] : !p -> !s
  return %y : !s
}
