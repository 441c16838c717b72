// Without a right mask it is refused: where, which index, why, and the way out.
// RUN: tpsp-opt %s --tpsp-set-padding="pad=p=4" --tpsp-pad-extents --split-input-file --verify-diagnostics

!x = tensor<3x5xf32, #tpsp.idx<b, p>>
func.func @dropout(%x: !x) -> !x {
  // expected-error @+1 {{index 'p' is padded to 8 positions, with which 'tpsp.dropout' is not exact: what it drops follows from places in the whole tensor, which only an outermost index does not move; leave 'p' out of --pad, or give it an extent that its axes divide}}
  %0 = tpsp.dropout %x {rate = 0.5, seed = 1} : !x
  return %0 : !x
}

// -----

// The outermost index moves nothing, and neither does a dropout of nothing.
!x = tensor<5x3xf32, #tpsp.idx<p, b>>
!y = tensor<3x5xf32, #tpsp.idx<b, p>>
func.func @dropouts(%x: !x, %y: !y) -> (!x, !y) {
  %0 = tpsp.dropout %x {rate = 0.5, seed = 1} : !x
  %1 = tpsp.dropout %y {rate = 0.0, seed = 1} : !y
  return %0, %1 : !x, !y
}

// -----

!x = tensor<2x3x5x6xf32, #tpsp.idx<b, s, p, k>>
!y = tensor<2x3x5x6xf32, #tpsp.idx<b, t, p, k>>
func.func @attention(%q: !x, %k: !y) -> !x {
  // expected-error @+1 {{'tpsp.dropout' is not exact: what it drops follows from places in the whole tensor}}
  %0 = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", dropout = 0.5} : (!x, !y, !y) -> !x
  return %0 : !x
}

// -----

!x = tensor<3x5xf32, #tpsp.idx<b, p>>
!c = tensor<3x2xf32, #tpsp.idx<b, c>>
!y = tensor<3x7xf32, #tpsp.idx<b, y>>
func.func @concat(%x: !x, %c: !c) -> !y {
  // expected-error @+1 {{'tpsp.concat' is not exact: what is behind the end would stand between others}}
  %0 = tpsp.concat %x, %c {index = "y"} : (!x, !c) -> !y
  return %0 : !y
}

// -----

!c = tensor<3x7xf32, #tpsp.idx<b, c>>
!x = tensor<3x5xf32, #tpsp.idx<b, p>>
func.func @cut(%c: !c) -> !x {
  // expected-error @+1 {{'tpsp.cut' is not exact: it would cut out more positions}}
  %0 = tpsp.cut %c {index = "c", from = 1} : !c -> !x
  return %0 : !x
}

// -----

!x = tensor<3x5xf32, #tpsp.idx<b, p>>
!c = tensor<3x7xf32, #tpsp.idx<b, c>>
func.func @pad(%x: !x) -> !c {
  // expected-error @+1 {{'tpsp.pad' is not exact: what is behind the operand's end would stand between others}}
  %0 = tpsp.pad %x {index = "c", before = 1} : !x -> !c
  return %0 : !c
}

// -----

!r = tensor<3xf32, #tpsp.idx<b>>
!x = tensor<3x2xf32, #tpsp.idx<b, p>>
func.func @stack(%x: !r, %y: !r) -> !x {
  // expected-error @+1 {{'tpsp.stack' is not exact: its operands are all the positions}}
  %0 = tpsp.stack %x, %y {index = "p"} : !r -> !x
  return %0 : !x
}

// -----

!x = tensor<3x6xf32, #tpsp.idx<s, p>>
func.func @rope(%x: !x) -> !x {
  // expected-error @+1 {{is padded to 8 positions, with which}}
  %0 = tpsp.rope %x {position = "s", feature = "p"} : !x
  return %0 : !x
}

// -----

!i = tensor<3x5xi32, #tpsp.idx<b, p>>
func.func @count(%x: !i) -> !i {
  // expected-error @+1 {{'tpsp.count_earlier' is not exact: integers behind the end would come before others}}
  %0 = tpsp.count_earlier %x {over = ["b", "p"], values = 4} : !i
  return %0 : !i
}

// -----

// In this order they come last.
!i = tensor<3x5xi32, #tpsp.idx<b, p>>
func.func @count(%x: !i) -> !i {
  %0 = tpsp.count_earlier %x {over = ["p", "b"], values = 4} : !i
  return %0 : !i
}

// -----

!x = tensor<3x5xf32, #tpsp.idx<b, p>>
!y = tensor<3x7xi32, #tpsp.idx<b, e>>
!s = tensor<3x7xf32, #tpsp.idx<b, e>>
func.func @router(%x: !s) -> tensor<3x5xi32, #tpsp.idx<b, p>> {
  // expected-error @+1 {{'tpsp.router' is not exact: there would be more choices}}
  %0 = tpsp.router %x {expert = "e", choice = "p"} : !s -> tensor<3x5xi32, #tpsp.idx<b, p>>
  return %0 : tensor<3x5xi32, #tpsp.idx<b, p>>
}

// -----

// Only integers have the index, and it is summed over.
!i = tensor<5xi32, #tpsp.idx<p>>
!x = tensor<4xf32, #tpsp.idx<v>>
func.func @sum(%i: !i, %x: !x) -> tensor<f32, #tpsp.idx<>> {
  // expected-error @+1 {{'tpsp.one_hot_einsum' is not exact: it sums over integers behind the end}}
  %0 = tpsp.one_hot_einsum %i, %x {indices = ["v"]} : (!i, !x) -> tensor<f32, #tpsp.idx<>>
  return %0 : tensor<f32, #tpsp.idx<>>
}
