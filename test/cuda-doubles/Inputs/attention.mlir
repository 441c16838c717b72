// Attention alone: a plan without kernels, which the doubles could not run.
tpsp.mesh @mesh <tp = 1>
!q = tensor<2x37x6x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x37x6x16xf32, #tpsp.idx<b, t, h, k>>
func.func @attention(%q: !q, %k: !k, %v: !k) -> !q {
  %y = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal, scale = 0.25} : (!q, !k, !k) -> !q
  return %y : !q
}
