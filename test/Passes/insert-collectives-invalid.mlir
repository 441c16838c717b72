// RUN: tpsp-opt %s --tpsp-insert-collectives --split-input-file --verify-diagnostics

// A whole tensor cannot become a summand.
tpsp.mesh @mesh <tp = 4>
func.func @partial_wanted(%x: tensor<8xf32, #tpsp.idx<b>>) {
  // expected-error @+1 {{has no legal compute placement: its result is wanted [b | sum@tp], which cannot be made from its operands; a whole tensor cannot become partial, and axes must divide the extents they shard}}
  %y = tpsp.scale %x {factor = 2.0} : tensor<8xf32, #tpsp.idx<b>> -> tensor<8xf32, #tpsp.idx<b | sum@tp>>
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
