// RUN: tpsp-opt %s --tpsp-differentiate --split-input-file --verify-diagnostics

!x = tensor<8x32xf32, #tpsp.idx<b, d>>

func.func @slope(%x: !x) -> !x {
  // expected-error @+1 {{has no gradient: tpsp differentiates once; keep it off the path from the differentiated arguments}}
  %y = tpsp.slope %x {of = "gelu"} : !x
  return %y : !x
}

// -----

!x = tensor<8x32xf32, #tpsp.idx<b, d>>
!m = tensor<8xf32, #tpsp.idx<b>>

func.func @composite(%x: !x) -> !m {
  // expected-error @+1 {{is a composite; run tpsp-decompose}}
  %m = tpsp.mean %x : !x -> !m
  return %m : !m
}

// -----

!x = tensor<8x32xf32, #tpsp.idx<b, d>>

func.func @foreign(%x: !x) -> !x {
  // expected-error @+1 {{is on the path from the differentiated arguments and has no gradient}}
  %y = builtin.unrealized_conversion_cast %x : !x to !x
  return %y : !x
}

// -----

!q = tensor<8x2x4xf32, #tpsp.idx<s, h, k>>
!k = tensor<8x2x4xf32, #tpsp.idx<t, h, k>>

func.func @bias_and_sink(%q: !q, %k: !k, %bias: tensor<8xf32, #tpsp.idx<t>>, %sink: tensor<2xf32, #tpsp.idx<h>>) -> !q {
  // expected-error @+1 {{has a bias and a sink, and its gradient with a bias does not read the statistic; run tpsp-decompose-early before differentiation}}
  %o = tpsp.attention %q, %k, %k, %bias, %sink {query = "s", key = "t", feature = "k"} : (!q, !k, !k, tensor<8xf32, #tpsp.idx<t>>, tensor<2xf32, #tpsp.idx<h>>) -> !q
  return %o : !q
}
