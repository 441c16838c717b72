// RUN: tpsp-opt %s --split-input-file --tpsp-sweep --verify-diagnostics

!q = tensor<8x4xf32, #tpsp.idx<s, k>>
!k = tensor<8x4xf32, #tpsp.idx<t, k>>
func.func @global(%q: !q, %k: !k) -> !q {
  // expected-error @+1 {{is swept on one rank's shapes, and these are global; run tpsp-partition first}}
  %y = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k"} : (!q, !k, !k) -> !q
  return %y : !q
}

// -----

tpsp.mesh @mesh <cp = 2>
!q = tensor<8x4xf32, #tpsp.idx<s@cp, k, local>>
!k = tensor<16x4xf32, #tpsp.idx<t, k, local>>
func.func @balanced(%q: !q, %k: !k) -> !q {
  // expected-error @+1 {{has a tile of rows, which blocks do not know; run tpsp-balance-attention behind tpsp-sweep}}
  %y = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", causal, tile = #tpsp.tile<index = "s", extent = 8, shift = 0, offset = 0, axes = ["cp"]>} : (!q, !k, !k) -> !q
  return %y : !q
}

// -----

// Beside a low bias the statistic has lost what weights are made of.
!q = tensor<8x4xf32, #tpsp.idx<s, k, local>>
!k = tensor<8x4xf32, #tpsp.idx<t, k, local>>
!l = tensor<8xf32, #tpsp.idx<s, local>>
!bias = tensor<8xf32, #tpsp.idx<t, local>>
func.func @biased(%q: !q, %k: !k, %o: !q, %l: !l, %bias: !bias) -> !q {
  // expected-error @+1 {{has a bias, and its gradients are not made in blocks of keys, as they are where its statistic is a result; way out: --attention fused, or leave the statistic out}}
  %g:3 = tpsp.attention_gradient %q, %k, %k, %o, %l, %o, %bias {query = "s", key = "t", feature = "k"} : (!q, !k, !k, !q, !l, !q, !bias) -> (!q, !k, !k)
  return %g#0 : !q
}
