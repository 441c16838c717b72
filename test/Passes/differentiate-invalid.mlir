// RUN: tpsp-opt %s --tpsp-differentiate --split-input-file --verify-diagnostics

!x = tensor<8x32xf32, #tpsp.idx<b, d>>

func.func @maximum(%x: !x) -> tensor<8xf32, #tpsp.idx<b>> {
  // expected-error @+1 {{of kind "max" has no gradient; use a smooth maximum (tpsp.softmax), or keep it off the path from the differentiated arguments}}
  %y = tpsp.reduce %x {kind = "max"} : !x -> tensor<8xf32, #tpsp.idx<b>>
  return %y : tensor<8xf32, #tpsp.idx<b>>
}

// -----

!x = tensor<8x32xf32, #tpsp.idx<b, d>>

func.func @slope(%x: !x) -> !x {
  // expected-error @+1 {{has no gradient: tpsp differentiates once; keep it off the path from the differentiated arguments}}
  %y = tpsp.slope %x {of = "gelu"} : !x
  return %y : !x
}

// -----

!q = tensor<2x8x4x16xf32, #tpsp.idx<b, s, h, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h, k>>

func.func @composite(%q: !q, %k: !k) -> !q {
  // expected-error @+1 {{is a composite; run tpsp-decompose}}
  %o = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k"} : (!q, !k, !k) -> !q
  return %o : !q
}

// -----

!x = tensor<8x32xf32, #tpsp.idx<b, d>>

func.func @foreign(%x: !x) -> !x {
  // expected-error @+1 {{is on the path from the differentiated arguments and has no gradient}}
  %y = builtin.unrealized_conversion_cast %x : !x to !x
  return %y : !x
}
