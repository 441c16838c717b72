// pytorch/pytorch#172601: a truth table over operations found 43 rules for
// Partial tensors missing. Others refuse a partial operand.
// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.exp' is not linear in it, so the sum must come first}}
  %y = tpsp.exp %p : tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.log' is not linear in it, so the sum must come first}}
  %y = tpsp.log %p : tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.tanh' is not linear in it, so the sum must come first}}
  %y = tpsp.tanh %p : tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.sqrt' is not linear in it, so the sum must come first}}
  %y = tpsp.sqrt %p : tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.rsqrt' is not linear in it, so the sum must come first}}
  %y = tpsp.rsqrt %p : tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.square' is not linear in it, so the sum must come first}}
  %y = tpsp.square %p : tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.sigmoid' is not linear in it, so the sum must come first}}
  %y = tpsp.sigmoid %p : tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.relu' is not linear in it, so the sum must come first}}
  %y = tpsp.relu %p : tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.silu' is not linear in it, so the sum must come first}}
  %y = tpsp.silu %p : tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.gelu' is not linear in it, so the sum must come first}}
  %y = tpsp.gelu %p : tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.gelu_erf' is not linear in it, so the sum must come first}}
  %y = tpsp.gelu_erf %p : tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.shift' is not linear in it, so the sum must come first}}
  %y = tpsp.shift %p {by = 1.0} : tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.slope' is not linear in it, so the sum must come first}}
  %y = tpsp.slope %p {of = "gelu"} : tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.causal_mask' is not linear in it, so the sum must come first}}
  %y = tpsp.causal_mask %p {query = "s", key = "d", fill = 0.0} : tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.div' is not linear in it, so the sum must come first}}
  %y = tpsp.div %p, %x : (tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, tensor<4x8xf32, #tpsp.idx<s, d>>) -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #1 is partial over @tp and 'tpsp.div' is not linear in it, so the sum must come first}}
  %y = tpsp.div %x, %p : (tensor<4x8xf32, #tpsp.idx<s, d>>, tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>) -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.reduce' is not linear in it, so the sum must come first}}
  %y = tpsp.reduce %p {kind = "max"} : tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<8xf32, #tpsp.idx<d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.softmax' is not linear in it, so the sum must come first}}
  %y = tpsp.softmax %p {over = "d"} : tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>> -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.rms_norm' is not linear in it, so the sum must come first}}
  %y = tpsp.rms_norm %p, %g : (tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, tensor<8xf32, #tpsp.idx<d>>) -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}

// -----

tpsp.mesh @mesh <tp = 4>
func.func @f(%p: tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>, %g: tensor<8xf32, #tpsp.idx<d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.layer_norm' is not linear in it, so the sum must come first}}
  %y = tpsp.layer_norm %p, %g, %g : (tensor<4x8xf32, #tpsp.idx<s, d | sum@tp>>, tensor<8xf32, #tpsp.idx<d>>, tensor<8xf32, #tpsp.idx<d>>) -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}
