// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

// (M1)
// expected-error @+1 {{axis @tp is declared twice}}
tpsp.mesh @mesh <tp = 4, tp = 2>

// -----

// (M2)
// expected-error @+1 {{axis @tp has size 0; sizes are at least 1}}
tpsp.mesh @mesh <tp = 0>

// -----

// (M2) also if the mesh comes after its uses
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

// expected-error @+1 {{axis @tp has role 'pipeline'; roles are 'data', 'model' and 'stage'}}
tpsp.mesh @mesh <tp = 4 : pipeline>

// -----

// (M4)
// expected-error @+1 {{axis @qq has the role 'stage', which @pp has; layers are divided once, so give one axis that role}}
tpsp.mesh @mesh <pp = 4 : stage, qq = 2 : stage>

// -----

// (M5)
tpsp.mesh @mesh <pp = 4 : stage>
func.func @sharded(%x: tensor<8xf32, #tpsp.idx<b@pp>>) -> tensor<8xf32, #tpsp.idx<b@pp>> {
  // expected-error @+1 {{operand #0 is on axis @pp, whose role is 'stage'; it divides layers and shards no tensor, so leave the subscript out}}
  %y = tpsp.exp %x : tensor<8xf32, #tpsp.idx<b@pp>>
  return %y : tensor<8xf32, #tpsp.idx<b@pp>>
}

// -----

// (M5) no sum may be pending over it
tpsp.mesh @mesh <pp = 4 : stage>
func.func @partial(%x: tensor<8xf32, #tpsp.idx<b>>) -> tensor<8xf32, #tpsp.idx<b>> {
  // expected-error @+1 {{the result is on axis @pp, whose role is 'stage'; it divides layers and shards no tensor, so leave the subscript out}}
  %y = tpsp.scale %x {factor = 2} : tensor<8xf32, #tpsp.idx<b>> -> tensor<8xf32, #tpsp.idx<b | sum@pp>>
  return %x : tensor<8xf32, #tpsp.idx<b>>
}

// -----

// expected-error @+1 {{expected an axis name, as in <tp = 4 : model>}}
tpsp.mesh @mesh <4>

// -----

// expected-error @+1 {{needs one size and one role for each axis}}
"tpsp.mesh"() {sym_name = "mesh", axis_names = ["tp"], axis_sizes = array<i64>, axis_roles = [""]} : () -> ()

// -----

// (M6)
// expected-error @+1 {{'tpsp.mesh' op has 9 axes; a mesh has at most 8, so write axes that always stand together as one}}
tpsp.mesh @mesh <a = 1, b = 1, c = 1, d = 1, e = 1, f = 1, g = 1, h = 1, i = 1>

// -----

tpsp.mesh @mesh <a = 1, b = 1, c = 1, d = 1, e = 1, f = 1, g = 1, h = 1>
