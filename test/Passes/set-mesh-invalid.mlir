// RUN: tpsp-opt %s --tpsp-set-mesh="mesh=tp=3" --split-input-file --verify-diagnostics

// expected-error @+1 {{the mesh has no axis 'tp'; its axes are dp, cp}}
tpsp.mesh @mesh <dp = 2 : data, cp = 4>

// -----

// expected-error @below {{the module has no mesh to set; declare one: tpsp.mesh @mesh <tp = 4>}}
module {
}

// -----

tpsp.mesh @mesh <tp = 4>
!x = tensor<4xf32, #tpsp.idx<d@tp>>
func.func @f(%x: !x) -> !x {
  // expected-error @+1 {{index 'd' of operand #0 has extent 4, which its axes (tp: 3 ranks) do not divide; nearest extents that work: 3 and 6}}
  %y = tpsp.exp %x : !x
  return %y : !x
}
