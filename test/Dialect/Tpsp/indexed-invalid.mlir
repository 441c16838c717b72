// Constraints (I1)-(I8), which hold for every operation with an index structure.
// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

// (I1) no subscripts
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{operand #0 must be variadic of tensor with #tpsp.idx subscripts, but got 'tensor<4xf32>'}}
  %0 = tpsp.exp %x : tensor<4xf32>
  return
}

// -----

// (I1) a dynamic extent
func.func @f(%x: tensor<?xf32, #tpsp.idx<b>>) {
  // expected-error @+1 {{operand #0 has a dynamic extent; extents are static}}
  %0 = tpsp.exp %x : tensor<?xf32, #tpsp.idx<b>>
  return
}

// -----

// (I2) no mesh
func.func @f(%x: tensor<4xf32, #tpsp.idx<b@tp>>) {
  // expected-error @+1 {{operand #0 is on axis @tp, but the module has no mesh; declare one: tpsp.mesh @mesh <tp = 4>}}
  %0 = tpsp.exp %x : tensor<4xf32, #tpsp.idx<b@tp>>
  return
}

// -----

// (I2) an unknown axis
tpsp.mesh @mesh <dp = 2, tp = 4>
func.func @f(%x: tensor<4xf32, #tpsp.idx<b>>) {
  // expected-error @+1 {{the result is on axis @pp, which the mesh does not have; its axes are dp, tp}}
  %0 = tpsp.exp %x : tensor<4xf32, #tpsp.idx<b>> -> tensor<4xf32, #tpsp.idx<b@pp>>
  return
}

// -----

// (I2) an unknown pending axis
tpsp.mesh @mesh <tp = 4>
func.func @f(%x: tensor<4xf32, #tpsp.idx<b | sum@dp>>) {
  // expected-error @+1 {{operand #0 is on axis @dp, which the mesh does not have; its axes are tp}}
  %0 = tpsp.neg %x : tensor<4xf32, #tpsp.idx<b | sum@dp>>
  return
}

// -----

// (I3)
tpsp.mesh @mesh <tp = 4>
func.func @f(%x: tensor<2x6xf32, #tpsp.idx<b, s@tp>>) {
  // expected-error @+1 {{index 's' of operand #0 has extent 6, which its axes (tp: 4 ranks) do not divide; nearest extents that work: 4 and 8}}
  %0 = tpsp.exp %x : tensor<2x6xf32, #tpsp.idx<b, s@tp>>
  return
}

// -----

// (I3) the product of several axes
tpsp.mesh @mesh <dp = 2, tp = 4>
func.func @f(%x: tensor<12xf32, #tpsp.idx<b>>) {
  // expected-error @+1 {{index 'b' of the result has extent 12, which its axes (dp, tp: 8 ranks) do not divide; nearest extents that work: 8 and 16}}
  %0 = tpsp.exp %x : tensor<12xf32, #tpsp.idx<b>> -> tensor<12xf32, #tpsp.idx<b@dp@tp>>
  return
}

// -----

// (I3) more ranks than positions: the axis can be two
tpsp.mesh @mesh <tp = 16>
func.func @f(%x: tensor<8x4xf32, #tpsp.idx<g@tp, k>>) {
  // expected-error @+2 {{index 'g' of operand #0 has extent 8, which its axes (tp: 16 ranks) do not divide; the smallest extent that works: 16}}
  // expected-note @+1 {{way out: instead of @tp = 16 two axes, @tp = 8 and @rep = 2: [g@tp] here, which leaves copies along @rep, and @tp@rep on indices that 16 divides}}
  %0 = tpsp.exp %x : tensor<8x4xf32, #tpsp.idx<g@tp, k>>
  return
}

// -----

// (I3) the same after an axis that fits, with an axis @rep
tpsp.mesh @mesh <rep = 2, tp = 8>
func.func @f(%x: tensor<8x4xf32, #tpsp.idx<g@rep@tp, k>>) {
  // expected-error @+2 {{index 'g' of operand #0 has extent 8, which its axes (rep, tp: 16 ranks) do not divide}}
  // expected-note @+1 {{way out: instead of @tp = 8 two axes, @tp = 4 and @rep2 = 2: [g@rep@tp] here, which leaves copies along @rep2, and @rep@tp@rep2 on indices that 16 divides}}
  %0 = tpsp.exp %x : tensor<8x4xf32, #tpsp.idx<g@rep@tp, k>>
  return
}

// -----

// (I3) with fewer than one for each rank, nothing lies below
tpsp.mesh @mesh <dp = 2, tp = 4>
func.func @f(%x: tensor<6xf32, #tpsp.idx<b@tp@dp>>) {
  // expected-error @+1 {{index 'b' of operand #0 has extent 6, which its axes (tp, dp: 8 ranks) do not divide; the smallest extent that works: 8}}
  %0 = tpsp.exp %x : tensor<6xf32, #tpsp.idx<b@tp@dp>>
  return
}

// -----

// (I3) axes whose product is beyond 64 bits
tpsp.mesh @mesh <dp = 4611686018427387904, tp = 4>
func.func @f(%x: tensor<6xf32, #tpsp.idx<b@tp@dp>>) {
  // expected-error @+1 {{index 'b' of operand #0 has extent 6, which its axes (tp, dp: 9223372036854775807 ranks) do not divide}}
  %0 = tpsp.exp %x : tensor<6xf32, #tpsp.idx<b@tp@dp>>
  return
}

// -----

// (I4)
func.func @f(%w: tensor<8x16xf32, #tpsp.idx<e, d>>, %x: tensor<2x32xf32, #tpsp.idx<b, d>>) {
  // expected-error @+1 {{index 'd' has extent 16 on operand #0 but 32 on operand #1; one name means one extent: rename one of them (tpsp.rename)}}
  %0 = tpsp.einsum %w, %x : (tensor<8x16xf32, #tpsp.idx<e, d>>, tensor<2x32xf32, #tpsp.idx<b, d>>) -> tensor<2x8xf32, #tpsp.idx<b, e>>
  return
}

// -----

// (I4) the result counts too
func.func @f(%x: tensor<4xf32, #tpsp.idx<b>>) {
  // expected-error @+1 {{index 'b' has extent 4 on operand #0 but 8 on the result}}
  %0 = tpsp.exp %x : tensor<4xf32, #tpsp.idx<b>> -> tensor<8xf32, #tpsp.idx<b>>
  return
}

// -----

// (I5)
func.func @f(%x: tensor<4xf32, #tpsp.idx<b>>) {
  // expected-error @+1 {{the result has index 'c', which no operand has; remove it or add it to an operand with tpsp.broadcast}}
  %0 = tpsp.einsum %x : tensor<4xf32, #tpsp.idx<b>> -> tensor<4x2xf32, #tpsp.idx<b, c>>
  return
}

// -----

// (I6) a partial where a whole tensor is needed
tpsp.mesh @mesh <tp = 4>
func.func @f(%x: tensor<4x16xf32, #tpsp.idx<b, d | sum@tp>>) {
  // expected-error @+1 {{operand #0 is partial over @tp and 'tpsp.gelu' is not linear in it, so the sum must come first; complete it with tpsp.reshard to [b, d] (384 B per rank)}}
  %0 = tpsp.gelu %x : tensor<4x16xf32, #tpsp.idx<b, d | sum@tp>>
  return
}

// -----

// (I6) the price of the shard of a tensor, in larger units
tpsp.mesh @mesh <dp = 2, tp = 4>
func.func @f(%x: tensor<1024x4096xf32, #tpsp.idx<b@dp, d | sum@tp>>) {
  // expected-error @+1 {{complete it with tpsp.reshard to [b@dp, d] (12.0 MiB per rank)}}
  %0 = tpsp.softmax %x {over = "d"} : tensor<1024x4096xf32, #tpsp.idx<b@dp, d | sum@tp>>
  return
}

// -----

// (I6) a linear operation takes a partial operand
tpsp.mesh @mesh <tp = 4>
func.func @f(%x: tensor<4xf32, #tpsp.idx<b | sum@tp>>) {
  %0 = tpsp.scale %x {factor = 2.0} : tensor<4xf32, #tpsp.idx<b | sum@tp>>
  return
}

// -----

// (I7)
func.func @f(%x: tensor<4xf32, #tpsp.idx<b>>, %y: tensor<4xbf16, #tpsp.idx<b>>) {
  // expected-error @+1 {{operand #1 has element type 'bf16', but what comes before it 'f32'; one operation computes in one type (tpsp.convert)}}
  %0 = tpsp.mul %x, %y : (tensor<4xf32, #tpsp.idx<b>>, tensor<4xbf16, #tpsp.idx<b>>) -> tensor<4xf32, #tpsp.idx<b>>
  return
}

// -----

// (I8) a near miss
func.func @f(%x: tensor<4x4xf32, #tpsp.idx<s, t>>) {
  // expected-error @+1 {{has no attribute 'casual'; is it 'causal'?}}
  %0 = tpsp.softmax %x {over = "t", casual = "s"} : tensor<4x4xf32, #tpsp.idx<s, t>>
  return
}

// -----

// (I8) no such option
func.func @f(%x: tensor<4x4xf32, #tpsp.idx<s, t>>) {
  // expected-error @+1 {{has no attribute 'dimension'; it has 'causal', 'hides', 'over', 'scale'}}
  %0 = tpsp.softmax %x {over = "t", dimension = "s"} : tensor<4x4xf32, #tpsp.idx<s, t>>
  return
}

// -----

// (I8) no options at all
func.func @f(%x: tensor<4xf32, #tpsp.idx<s>>) {
  // expected-error @+1 {{has no attribute 'approximate', and takes none}}
  %0 = tpsp.gelu %x {approximate} : tensor<4xf32, #tpsp.idx<s>>
  return
}

// -----

// (I8) a tool's notes have its dialect's prefix
func.func @f(%x: tensor<4xf32, #tpsp.idx<s>>) {
  %0 = tpsp.gelu %x {mytool.seen} : tensor<4xf32, #tpsp.idx<s>>
  return
}
