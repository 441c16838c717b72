// RUN: tpsp-opt %s --convert-tpsp-to-plan --split-input-file --verify-diagnostics

// expected-error @+1 {{not a tensor with #tpsp.idx subscripts: 'tensor<4xf32>'; write its index names}}
func.func @plain(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{programs compute in f32, bf16, f16 or f64, with positions in i32 and masks in i8, not in 'i64'}}
func.func @integers(%x: tensor<4xi64, #tpsp.idx<d, local>>) {
  return
}

// -----

!w = tensor<4xf32, #tpsp.idx<d, local>>
// expected-error @+1 {{two arguments are called 'w'; give one another name}}
func.func @same_names(%a: !w {tpsp.param = "w"}, %b: !w {tpsp.param = "w"}) {
  return
}

// -----

!w = tensor<4xf32, #tpsp.idx<d, local>>
// expected-error @+1 {{two arguments are called 'w'; give one another name}}
func.func @same_name_of_an_input(%a: !w {tpsp.name = "w"}, %b: !w {tpsp.param = "w"}) {
  return
}

// -----

// Gradients of results of one name.
!w = tensor<4xf32, #tpsp.idx<d, local>>
func.func @results(%a: !w {tpsp.name = "g[y]", tpsp.cotangent_of = 0 : i64}, %b: !w {tpsp.name = "g[y]", tpsp.cotangent_of = 1 : i64}) {
  return
}

// -----

func.func @composite(%x: tensor<4xf32, #tpsp.idx<d, local>>) {
  // expected-error @+1 {{has no loop form; run tpsp-decompose-late first}}
  %y = tpsp.softmax %x {over = "d"} : tensor<4xf32, #tpsp.idx<d, local>>
  return
}

// -----

func.func @foreign(%x: tensor<4xf32, #tpsp.idx<d, local>>) {
  // expected-error @+1 {{has no command; run tpsp-insert-collectives and tpsp-decompose-late before converting to a plan}}
  %y = arith.negf %x : tensor<4xf32, #tpsp.idx<d, local>>
  return
}
