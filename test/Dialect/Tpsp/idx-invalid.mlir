// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

// (N1) too few names
// expected-error @+1 {{the tensor has 3 dimensions but 2 index names; name each dimension once}}
func.func private @f(tensor<2x128x256xf32, #tpsp.idx<b, s>>)

// -----

// (N1) too many names
// expected-error @+1 {{the tensor has 1 dimensions but 2 index names}}
func.func private @f(tensor<2xf32, #tpsp.idx<b, s>>)

// -----

// (N2)
// expected-error @+1 {{index 'd' appears twice on one tensor; give its second role another name (tpsp.rename)}}
func.func private @f(tensor<2x4x4xf32, #tpsp.idx<b, d, d>>)

// -----

// (N3) an axis twice on one index
// expected-error @+1 {{axis @tp is twice on 'b'; remove one of the two}}
func.func private @f(tensor<16x4xf32, #tpsp.idx<b@tp@tp, d>>)

// -----

// (N3) pending twice
// expected-error @+1 {{axis @tp is pending twice; remove one of the two}}
func.func private @f(tensor<4x4xf32, #tpsp.idx<b, d | sum@tp@tp>>)

// -----

// (N4)
// expected-error @+1 {{a tensor marked '?' has no subscripts yet; remove the '?' or the subscripts}}
func.func private @f(tensor<4x4xf32, #tpsp.idx<b@tp, d, ?>>)

// -----

// (N4) pending is a placement too
// expected-error @+1 {{a tensor marked '?' has no subscripts yet}}
func.func private @f(tensor<4x4xf32, #tpsp.idx<b, d, ? | sum@tp>>)

// -----

// expected-error @+1 {{expected an index name, as in <b, s@tp, d>}}
func.func private @f(tensor<4x4xf32, #tpsp.idx<b, 4>>)

// -----

// expected-error @+1 {{expected 'sum' or 'max' after '|', not 'mean'}}
func.func private @f(tensor<4x4xf32, #tpsp.idx<b, d | mean@tp>>)

// -----

// expected-error @+1 {{'| sum' names no axis; write '| sum@axis'}}
func.func private @f(tensor<4x4xf32, #tpsp.idx<b, d | sum>>)

// -----

// expected-error @+1 {{has an unknown attribute 'tpsp.weight'; known are 'tpsp.param', 'tpsp.name', 'tpsp.frozen', 'tpsp.below', 'tpsp.mean', 'tpsp.deviation', 'tpsp.initial_deviation', 'tpsp.data', 'tpsp.optimizer' and 'tpsp.learning_rate'}}
func.func private @f(tensor<4xf32, #tpsp.idx<b>> {tpsp.weight})

// -----

// expected-error @+1 {{tpsp.param takes no value or the parameter's name as a string}}
func.func private @f(tensor<4xf32, #tpsp.idx<b>> {tpsp.param = 3})

// -----

// expected-error @+1 {{argument #0: tpsp.frozen takes no value}}
func.func private @f(tensor<4xf32, #tpsp.idx<b>> {tpsp.frozen = true})

// -----

// expected-error @+1 {{argument #0: tpsp.deviation is a finite number, 0.0 or more, with a point, such as 0.02}}
func.func private @f(tensor<4xf32, #tpsp.idx<b>> {tpsp.deviation = -0.5 : f64})

// -----

// expected-error @+1 {{argument #0: tpsp.mean is a finite number with a point, such as 0.02}}
func.func private @f(tensor<4xf32, #tpsp.idx<b>> {tpsp.mean = 0x7FF0000000000000 : f64})

// -----

// expected-error @+1 {{argument #0: tpsp.mean is a finite number with a point, such as 0.02}}
func.func private @f(tensor<4xf32, #tpsp.idx<b>> {tpsp.mean = 1})

// -----

// expected-error @+1 {{argument #0: tpsp.deviation is of floating-point numbers; integers have 'tpsp.below'}}
func.func private @f(tensor<4xi32, #tpsp.idx<b>> {tpsp.deviation = 0.5 : f64})

// -----

// expected-error @+1 {{tpsp.name is a string}}
func.func private @f(tensor<4xf32, #tpsp.idx<b>> {tpsp.name})

// -----

// expected-error @+1 {{is a parameter but not a tensor with #tpsp.idx subscripts}}
func.func private @f(tensor<4xf32> {tpsp.param})

// -----

// expected-error @+1 {{argument #0 is a parameter of integers, which no step changes; call it tpsp.name}}
func.func private @f(tensor<4xi32, #tpsp.idx<b>> {tpsp.param = "ids"})

// -----

// expected-error @+1 {{argument #0: tpsp.data is "tokens", "next_tokens", "positions", "documents", "document_positions" or "labels"}}
func.func private @f(tensor<4xi32, #tpsp.idx<s>> {tpsp.data = "words"})

// -----

// expected-error @+1 {{argument #0: tpsp.data is of integers}}
func.func private @f(tensor<4xf32, #tpsp.idx<s>> {tpsp.data = "tokens"})

// -----

// expected-error @+1 {{argument #0: tpsp.data "positions" is of a tensor whose last index is the sequence's}}
func.func private @f(tensor<i32, #tpsp.idx<>> {tpsp.data = "positions"})

// -----

// expected-error @+1 {{argument #0: tpsp.initial_deviation is a finite number, 0.0 or more, with a point, such as 0.02}}
func.func private @f(tensor<4xf32, #tpsp.idx<s>> {tpsp.initial_deviation = -1.0 : f64})
