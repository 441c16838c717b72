// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

func.func @not_integers(%ids: tensor<4xf32, #tpsp.idx<s>>, %w: tensor<8x2xf32, #tpsp.idx<v, d>>) {
  // expected-error @+1 {{operand #0 holds integers: its element type is i32, not 'f32'}}
  %x = tpsp.embedding %ids, %w {vocabulary = "v"} : (tensor<4xf32, #tpsp.idx<s>>, tensor<8x2xf32, #tpsp.idx<v, d>>) -> tensor<4x2xf32, #tpsp.idx<s, d>>
  return
}

// -----

func.func @integers(%ids: tensor<4xi32, #tpsp.idx<s>>) {
  // expected-error @+1 {{operand #0 has element type 'i32'; 'tpsp.exp' computes on floating-point numbers there}}
  %x = tpsp.exp %ids : tensor<4xi32, #tpsp.idx<s>>
  return
}

// -----

func.func @bound(%ids: tensor<4xi32, #tpsp.idx<s>> {tpsp.below = 5}) {
  return
}

// -----

// expected-error @+1 {{argument #0: tpsp.below is a positive integer of 64 bits, such as 512}}
func.func @bound(%ids: tensor<4xi32, #tpsp.idx<s>> {tpsp.below = 0}) {
  return
}

// -----

// expected-error @+1 {{argument #0: tpsp.below is a positive integer of 64 bits}}
func.func @bound(%ids: tensor<4xi32, #tpsp.idx<s>> {tpsp.below = 3 : i32}) {
  return
}

// -----

// expected-error @+1 {{argument #0: tpsp.below is of integers; floating-point numbers have 'tpsp.mean' and 'tpsp.deviation'}}
func.func @bound(%x: tensor<4xf32, #tpsp.idx<s>> {tpsp.below = 3}) {
  return
}

// -----

// (H4) the vocabulary
func.func @no_vocabulary(%ids: tensor<4xi32, #tpsp.idx<s>>, %w: tensor<8x2xf32, #tpsp.idx<v, d>>) {
  // expected-error @+1 {{vocabulary = "w" is not an index of operand #1, [v, d]}}
  %x = tpsp.embedding %ids, %w {vocabulary = "w"} : (tensor<4xi32, #tpsp.idx<s>>, tensor<8x2xf32, #tpsp.idx<v, d>>) -> tensor<4x2xf32, #tpsp.idx<s, d>>
  return
}

// -----

// (H1) whole integers
func.func @partial_ids(%ids: tensor<4xi32, #tpsp.idx<s | sum@tp>>, %w: tensor<8x2xf32, #tpsp.idx<v, d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp; integers that select are complete}}
  %x = tpsp.one_hot_einsum %ids, %w {indices = ["v"]} : (tensor<4xi32, #tpsp.idx<s | sum@tp>>, tensor<8x2xf32, #tpsp.idx<v, d>>) -> tensor<4x2xf32, #tpsp.idx<s, d>>
  return
}
tpsp.mesh @mesh <tp = 2>

// -----

// (H2)
func.func @selects_nowhere(%ids: tensor<4xi32, #tpsp.idx<s>>, %w: tensor<8x2xf32, #tpsp.idx<v, d>>) {
  // expected-error @+1 {{selects along 'u', which is an index neither of an operand of numbers nor of the result}}
  %x = tpsp.one_hot_einsum %ids, %w {indices = ["u"]} : (tensor<4xi32, #tpsp.idx<s>>, tensor<8x2xf32, #tpsp.idx<v, d>>) -> tensor<4x2xf32, #tpsp.idx<s, d>>
  return
}

// -----

// (H3)
func.func @sums_more(%ids: tensor<4xi32, #tpsp.idx<s>>, %w: tensor<8x2xf32, #tpsp.idx<v, d>>) {
  // expected-error @+1 {{sums index 'd' of operand #1, which no other operand has; sum it first (tpsp.reduce)}}
  %x = tpsp.one_hot_einsum %ids, %w {indices = ["v"]} : (tensor<4xi32, #tpsp.idx<s>>, tensor<8x2xf32, #tpsp.idx<v, d>>) -> tensor<4xf32, #tpsp.idx<s>>
  return
}

// -----

// (T1) too many choices
func.func @too_many_choices(%l: tensor<4x2xf32, #tpsp.idx<s, e>>) {
  // expected-error @+1 {{makes 3 choices among 2 experts}}
  %x = tpsp.router %l {expert = "e", choice = "k"} : (tensor<4x2xf32, #tpsp.idx<s, e>>) -> tensor<4x3xi32, #tpsp.idx<s, k>>
  return
}

// -----

// (T1) the indices
func.func @no_choice(%l: tensor<4x2xf32, #tpsp.idx<s, e>>) {
  // expected-error @+1 {{has result [s]; it must have 'k' in place of 'e'}}
  %x = tpsp.router %l {expert = "e", choice = "k"} : (tensor<4x2xf32, #tpsp.idx<s, e>>) -> tensor<4xi32, #tpsp.idx<s>>
  return
}

// -----

// (T2) values
func.func @counts_nothing(%ids: tensor<4xi32, #tpsp.idx<s>>) {
  // expected-error @+1 {{values = 0 is not between 1 and 65536}}
  %x = tpsp.count_earlier %ids {over = ["s"], values = 0} : tensor<4xi32, #tpsp.idx<s>>
  return
}

// -----

// (T2) over
func.func @counts_twice(%ids: tensor<4xi32, #tpsp.idx<s>>) {
  // expected-error @+1 {{counts twice over index 's'}}
  %x = tpsp.count_earlier %ids {over = ["s", "s"], values = 2} : tensor<4xi32, #tpsp.idx<s>>
  return
}

// -----

// (X1)
func.func @targets(%l: tensor<4x8xf32, #tpsp.idx<s, v>>, %t: tensor<8xi32, #tpsp.idx<v>>) {
  // expected-error @+1 {{targets [v] and result [s] must have the indices of the logits but 'v'}}
  %x = tpsp.cross_entropy %l, %t {over = "v"} : (tensor<4x8xf32, #tpsp.idx<s, v>>, tensor<8xi32, #tpsp.idx<v>>) -> tensor<4xf32, #tpsp.idx<s>>
  return
}

// -----

// (D1)
func.func @dispatch(%ids: tensor<4x2xi32, #tpsp.idx<s, k>>, %x: tensor<4x3xf32, #tpsp.idx<s, d>>) {
  // expected-error @+1 {{the result lacks the index 'c'}}
  %y = tpsp.dispatch %ids, %x {expert = "e", slot = "c", choice = "k"} : (tensor<4x2xi32, #tpsp.idx<s, k>>, tensor<4x3xf32, #tpsp.idx<s, d>>) -> tensor<2x3xf32, #tpsp.idx<e, d>>
  return
}

// -----

// (D2)
func.func @combine(%ids: tensor<4x2xi32, #tpsp.idx<s, k>>, %w: tensor<4xf32, #tpsp.idx<s>>, %v: tensor<2x4x3xf32, #tpsp.idx<e, c, d>>) {
  // expected-error @+1 {{weights [s] do not have the indices of the choices [s, k]}}
  %y = tpsp.combine %ids, %w, %v {expert = "e", slot = "c", choice = "k"} : (tensor<4x2xi32, #tpsp.idx<s, k>>, tensor<4xf32, #tpsp.idx<s>>, tensor<2x4x3xf32, #tpsp.idx<e, c, d>>) -> tensor<4x3xf32, #tpsp.idx<s, d>>
  return
}

// -----

// (D1) integers
tpsp.mesh @mesh <x = 2>
func.func @dispatch(%ids: tensor<4x2xi32, #tpsp.idx<s, k | sum@x>>, %x: tensor<4x3xf32, #tpsp.idx<s, d>>) {
  // expected-error @+1 {{operand #0 is partial over @x; integers that select are complete}}
  %y = tpsp.dispatch %ids, %x {expert = "e", slot = "c", choice = "k"} : (tensor<4x2xi32, #tpsp.idx<s, k | sum@x>>, tensor<4x3xf32, #tpsp.idx<s, d>>) -> tensor<2x2x3xf32, #tpsp.idx<e, c, d>>
  return
}

// -----

// (D2) integers
tpsp.mesh @mesh <x = 2>
func.func @combine(%ids: tensor<4x2xi32, #tpsp.idx<s, k | sum@x>>, %w: tensor<4x2xf32, #tpsp.idx<s, k>>, %v: tensor<2x4x3xf32, #tpsp.idx<e, c, d>>) {
  // expected-error @+1 {{operand #0 is partial over @x; integers that select are complete}}
  %y = tpsp.combine %ids, %w, %v {expert = "e", slot = "c", choice = "k"} : (tensor<4x2xi32, #tpsp.idx<s, k | sum@x>>, tensor<4x2xf32, #tpsp.idx<s, k>>, tensor<2x4x3xf32, #tpsp.idx<e, c, d>>) -> tensor<4x3xf32, #tpsp.idx<s, d>>
  return
}

// -----

// (P4) the rate
func.func @rate(%x: tensor<4xf32, #tpsp.idx<s>>) {
  // expected-error @+1 {{rate 1.000000e+00 is not a probability below 1}}
  %y = tpsp.dropout %x {rate = 1.0} : tensor<4xf32, #tpsp.idx<s>>
  return
}

// -----

// (P4) the step's number
func.func @step(%x: tensor<4xf32, #tpsp.idx<s>>) {
  // expected-error @+1 {{operand #1 is the step's number, but has indices [s]}}
  %y = tpsp.dropout %x, %x {rate = 0.5} : tensor<4xf32, #tpsp.idx<s>>
  return
}

// -----

// (P4) the precision of the other operands
func.func @precision(%x: tensor<4xf32, #tpsp.idx<s>>, %n: tensor<f32, #tpsp.idx<>>) {
  // expected-error @+1 {{has tensors of 'f32' and of 'bf16'}}
  %y = tpsp.dropout %x, %n {rate = 0.5} : (tensor<4xf32, #tpsp.idx<s>>, tensor<f32, #tpsp.idx<>>) -> tensor<4xbf16, #tpsp.idx<s>>
  return
}

// -----

// (P2) the mask of a dropout has no operand but the step's number
func.func @mask(%n: tensor<f32, #tpsp.idx<>>) {
  // expected-error @+1 {{takes 0 operands, not 2}}
  %y = tpsp.dropout_mask %n, %n {rate = 0.5} : (tensor<f32, #tpsp.idx<>>, tensor<f32, #tpsp.idx<>>) -> tensor<4xi8, #tpsp.idx<s>>
  return
}

// -----

// (P6)
func.func @relation(%x: tensor<4xf32, #tpsp.idx<s>>) {
  // expected-error @+1 {{is = "smaller" is no relation; there are less, less_equal}}
  %y = tpsp.compare %x, %x {is = "smaller"} : tensor<4xf32, #tpsp.idx<s>>
  return
}

// -----

// (A4) the step's number
func.func @attention_step(%q: tensor<4x8xf32, #tpsp.idx<s, k>>, %k: tensor<4x8xf32, #tpsp.idx<t, k>>, %bias: tensor<4x4xf32, #tpsp.idx<s, t>>) {
  // expected-error @+1 {{operand #4 is the step's number, but has indices [t, k]}}
  %o = tpsp.attention %q, %k, %k, %bias, %k {query = "s", key = "t", feature = "k", dropout = 0.5} : (tensor<4x8xf32, #tpsp.idx<s, k>>, tensor<4x8xf32, #tpsp.idx<t, k>>, tensor<4x8xf32, #tpsp.idx<t, k>>, tensor<4x4xf32, #tpsp.idx<s, t>>, tensor<4x8xf32, #tpsp.idx<t, k>>) -> tensor<4x8xf32, #tpsp.idx<s, k>>
  return
}

// -----

// (P4) the part
func.func @part(%x: tensor<4xf32, #tpsp.idx<s>>) {
  // expected-error @+1 {{part 2 of 2 in 1 blocks is no part of index 's' of extent 4}}
  %y = tpsp.dropout %x {rate = 0.5, along = "s", part = array<i64: 1, 2, 2>} : tensor<4xf32, #tpsp.idx<s>>
  return
}

// -----

tpsp.mesh @mesh <tp = 2>
// (H4) whole ids
func.func @partial_embedding(%ids: tensor<4xi32, #tpsp.idx<s | sum@tp>>, %w: tensor<8x2xf32, #tpsp.idx<v, d>>) {
  // expected-error @+1 {{operand #0 is partial over @tp; integers that select are complete}}
  %x = tpsp.embedding %ids, %w {vocabulary = "v"} : (tensor<4xi32, #tpsp.idx<s | sum@tp>>, tensor<8x2xf32, #tpsp.idx<v, d>>) -> tensor<4x2xf32, #tpsp.idx<s, d>>
  return
}

// -----

// (H1) numbers
func.func @no_numbers(%ids: tensor<4xi32, #tpsp.idx<s>>) {
  // expected-error @+1 {{has 1 operands; it takes 1 of integers, one for each of `indices`, and one or more of numbers}}
  %x = tpsp.one_hot_einsum %ids {indices = ["v"]} : (tensor<4xi32, #tpsp.idx<s>>) -> tensor<4x8xf32, #tpsp.idx<s, v>>
  return
}

// -----

// (H3) of two factors
func.func @sums_alone(%ids: tensor<4xi32, #tpsp.idx<s>>, %w: tensor<8x2x3xf32, #tpsp.idx<v, d, f>>, %y: tensor<4x2xf32, #tpsp.idx<s, d>>) {
  // expected-error @+1 {{sums index 'f' of operand #1, which no other operand has; sum it first (tpsp.reduce)}}
  %x = tpsp.one_hot_einsum %ids, %w, %y {indices = ["v"]} : (tensor<4xi32, #tpsp.idx<s>>, tensor<8x2x3xf32, #tpsp.idx<v, d, f>>, tensor<4x2xf32, #tpsp.idx<s, d>>) -> tensor<4xf32, #tpsp.idx<s>>
  return
}

// -----

// (T3) a load without `of`
func.func @load_of_what(%ids: tensor<4xi32, #tpsp.idx<s>>, %load: tensor<6xi32, #tpsp.idx<e>>) {
  // expected-error @+1 {{`of` names 0 indices; values are positions along one, or along two, of blocks and within a block}}
  %x = tpsp.count_earlier %ids, %load {over = ["s"], values = 6} : (tensor<4xi32, #tpsp.idx<s>>, tensor<6xi32, #tpsp.idx<e>>) -> tensor<4xi32, #tpsp.idx<s>>
  return
}

// -----

// (T3) `of` without a load
func.func @no_load(%ids: tensor<4xi32, #tpsp.idx<s>>) {
  // expected-error @+1 {{says `of` which indices values are positions along, and has no operand of their counts}}
  %x = tpsp.count_earlier %ids {over = ["s"], values = 6, of = ["e"]} : tensor<4xi32, #tpsp.idx<s>>
  return
}

// -----

// (T3) too few counts
func.func @few_counts(%ids: tensor<4xi32, #tpsp.idx<s>>, %load: tensor<6xi32, #tpsp.idx<e>>) {
  // expected-error @+1 {{has counts of 6 values where values = 7}}
  %x = tpsp.count_earlier %ids, %load {over = ["s"], values = 7, of = ["e"]} : (tensor<4xi32, #tpsp.idx<s>>, tensor<6xi32, #tpsp.idx<e>>) -> tensor<4xi32, #tpsp.idx<s>>
  return
}

// -----

// (T3) counts along the index that is counted over
func.func @counts_apart(%ids: tensor<4xi32, #tpsp.idx<s>>, %load: tensor<4x6xi32, #tpsp.idx<s, e>>) {
  // expected-error @+1 {{operand #1 has index 's', along which operand #0 is not counted apart}}
  %x = tpsp.count_earlier %ids, %load {over = ["s"], values = 6, of = ["e"]} : (tensor<4xi32, #tpsp.idx<s>>, tensor<4x6xi32, #tpsp.idx<s, e>>) -> tensor<4xi32, #tpsp.idx<s>>
  return
}

// -----

// (T4) `of`
func.func @values_of_itself(%ids: tensor<2x4xi32, #tpsp.idx<g, s>>) {
  // expected-error @+1 {{operand #0 carries index 'g', which it must not}}
  %x = tpsp.count_values %ids {over = ["s"], of = ["g"]} : (tensor<2x4xi32, #tpsp.idx<g, s>>) -> tensor<2xi32, #tpsp.idx<g>>
  return
}

// -----

// (T4) the indices
func.func @values_of_another(%ids: tensor<2x4xi32, #tpsp.idx<g, s>>) {
  // expected-error @+1 {{has result [s, e]; it must have [g, e]}}
  %x = tpsp.count_values %ids {over = ["s"], of = ["e"]} : (tensor<2x4xi32, #tpsp.idx<g, s>>) -> tensor<4x3xi32, #tpsp.idx<s, e>>
  return
}

// -----

// (T5) the indices
func.func @runs_along(%load: tensor<2x4xi32, #tpsp.idx<g, e>>) {
  // expected-error @+1 {{has result [g, e]; it must have [g, c]}}
  %x = tpsp.runs %load {of = "e", along = "c"} : tensor<2x4xi32, #tpsp.idx<g, e>>
  return
}

// -----

// (T6) the size
func.func @empty_blocks(%ids: tensor<4xi32, #tpsp.idx<s>>) {
  // expected-error @+1 {{size = 0; a block has at least one position}}
  %x = tpsp.block_of %ids {size = 0} : tensor<4xi32, #tpsp.idx<s>>
  return
}

// -----

// (D3) two indices for blocks
func.func @blocks_of_blocks(%ids: tensor<4x2xi32, #tpsp.idx<s, k>>, %load: tensor<2x2x3xi32, #tpsp.idx<h, j, i>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>) {
  // expected-error @+1 {{the load has the indices 'h' and 'j', which the choices lack; one is that of blocks of experts}}
  %y = tpsp.dispatch %ids, %load, %x {expert = "i", slot = "c", choice = "k"} : (tensor<4x2xi32, #tpsp.idx<s, k>>, tensor<2x2x3xi32, #tpsp.idx<h, j, i>>, tensor<4x8xf32, #tpsp.idx<s, d>>) -> tensor<2x2x5x8xf32, #tpsp.idx<h, j, c, d>>
  return
}

// -----

// (D3) rows of blocks
func.func @no_blocks(%ids: tensor<4x2xi32, #tpsp.idx<s, k>>, %load: tensor<2x3xi32, #tpsp.idx<j, i>>, %x: tensor<4x8xf32, #tpsp.idx<s, d>>) {
  // expected-error @+1 {{the result lacks the index 'j'}}
  %y = tpsp.dispatch %ids, %load, %x {expert = "i", slot = "c", choice = "k"} : (tensor<4x2xi32, #tpsp.idx<s, k>>, tensor<2x3xi32, #tpsp.idx<j, i>>, tensor<4x8xf32, #tpsp.idx<s, d>>) -> tensor<5x8xf32, #tpsp.idx<c, d>>
  return
}

// -----

// (D4) v has rows, not experts
func.func @slots_of_experts(%ids: tensor<4x2xi32, #tpsp.idx<s, k>>, %load: tensor<2x3xi32, #tpsp.idx<j, i>>, %w: tensor<4x2xf32, #tpsp.idx<s, k>>, %v: tensor<2x3x5x8xf32, #tpsp.idx<j, i, c, d>>) {
  // expected-error @+1 {{operand #3}}
  %y = tpsp.combine %ids, %load, %w, %v {expert = "i", slot = "c", choice = "k"} : (tensor<4x2xi32, #tpsp.idx<s, k>>, tensor<2x3xi32, #tpsp.idx<j, i>>, tensor<4x2xf32, #tpsp.idx<s, k>>, tensor<2x3x5x8xf32, #tpsp.idx<j, i, c, d>>) -> tensor<4x8xf32, #tpsp.idx<s, d>>
  return
}
