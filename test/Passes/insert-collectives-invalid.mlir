// RUN: tpsp-opt %s --tpsp-insert-collectives --split-input-file --verify-diagnostics

// A whole tensor cannot become a summand.
tpsp.mesh @mesh <tp = 4>
func.func @partial_wanted(%x: tensor<8xf32, #tpsp.idx<b>>) {
  // expected-error @+1 {{has no legal compute placement: its result is wanted [b | sum@tp], which cannot be made from its operands; a whole tensor cannot become partial, and axes must divide the extents they shard}}
  %y = tpsp.scale %x {factor = 2.0} : tensor<8xf32, #tpsp.idx<b>> -> tensor<8xf32, #tpsp.idx<b | sum@tp>>
  return
}

// -----

// A whole tensor is no summand of a sum that stays pending.
tpsp.mesh @mesh <tp = 4>
!p = tensor<8x3xf32, #tpsp.idx<b, d | sum@tp>>
func.func @mixed_summands(%x: !p, %bias: tensor<3xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #1 'arg1' [d] is whole along @tp, and the result is wanted as a sum that is pending over @tp: all 4 ranks would add it; complete operand #0 'arg0' [b, d | sum@tp] first: tpsp.reshard to [b, d] sends 144 B per rank; or write '?' for the result's placement, and the compiler does so}}
  %y = tpsp.add %x, %bias : (!p, tensor<3xf32, #tpsp.idx<d>>) -> !p
  return
}

// -----

// expected-error @+1 {{has control flow; tpsp programs are straight-line functions}}
func.func @control_flow(%x: tensor<8xf32, #tpsp.idx<b>>, %c: i1) {
  cf.cond_br %c, ^then, ^else
^then:
  return
^else:
  return
}
