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
