// RUN: tpsp-opt %s --tpsp-sweep --verify-diagnostics

!q = tensor<8x4xf32, #tpsp.idx<s, k>>
!k = tensor<8x4xf32, #tpsp.idx<t, k>>
func.func @global(%q: !q, %k: !k) -> !q {
  // expected-error @+1 {{is swept on one rank's shapes, and these are global; run tpsp-partition first}}
  %y = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k"} : (!q, !k, !k) -> !q
  return %y : !q
}
