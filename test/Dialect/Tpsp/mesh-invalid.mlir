// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

// (M1)
// expected-error @+1 {{axis @tp is declared twice}}
tpsp.mesh @mesh <tp = 4, tp = 2>

// -----

// (M2)
// expected-error @+1 {{axis @tp has size 0; sizes are at least 1}}
tpsp.mesh @mesh <tp = 0>

// -----

// (M2) also where the mesh stands behind what uses it
func.func @f(%x: tensor<4xf32, #tpsp.idx<b@tp>>) -> tensor<4xf32, #tpsp.idx<b@tp>> {
  %y = tpsp.exp %x : tensor<4xf32, #tpsp.idx<b@tp>>
  return %y : tensor<4xf32, #tpsp.idx<b@tp>>
}
// expected-error @+1 {{axis @tp has size -2; sizes are at least 1}}
tpsp.mesh @mesh <tp = -2>

// -----

// (M3)
// expected-note @+1 {{the first mesh is here}}
tpsp.mesh @mesh <tp = 4>
// expected-error @+1 {{is the module's second mesh; a module has one}}
tpsp.mesh @other <dp = 2>

// -----

// expected-error @+1 {{axis @tp has role 'pipeline'; roles are 'data' and 'model'}}
tpsp.mesh @mesh <tp = 4 : pipeline>

// -----

// expected-error @+1 {{expected an axis name, as in <tp = 4 : model>}}
tpsp.mesh @mesh <4>

// -----

// expected-error @+1 {{needs one size and one role for each axis}}
"tpsp.mesh"() {sym_name = "mesh", axis_names = ["tp"], axis_sizes = array<i64>, axis_roles = [""]} : () -> ()
