// RUN: tpsp-opt %s --split-input-file --verify-diagnostics

// (Q1)
// expected-error @+1 {{index 's' has two extents; what is another index has another name}}
tpsp.program <s = 4, s = 8> {
}

// -----

// (Q1) also the same one
// expected-error @+1 {{index 's' has two extents}}
tpsp.program <s = 4, s = s> {
}

// -----

// (Q1)
// expected-error @+1 {{index 's' has extent 0; extents are at least 1}}
tpsp.program <s = 0> {
}

// -----

// (Q1)
// expected-error @+1 {{index 's' has no extent yet; write it before 't'}}
tpsp.program <t = s, s = 4> {
}

// -----

// expected-error @+1 {{expected the extent of 't': a number, or an index before it}}
tpsp.program <t = "s"> {
}

// -----

// expected-error @+1 {{expected an index and its extent, as in <b = 8, s = 64, t = s>}}
tpsp.program <4> {
}

// -----

// expected-error @+1 {{expected what tensors hold, such as bf16, not 'i32'}}
tpsp.program i32 <s = 4> {
}

// -----

// (Q2) of an argument
tpsp.program <s = 4> {
  // expected-error @+1 {{index 'd' has no extent; add it to the program's, as in tpsp.program <d = 8>}}
  func @f(%y: [s], %x: [s, d]) {
    return
  }
}

// -----

// (Q2) of a result of the function
tpsp.program <s = 4> {
  // expected-error @+1 {{index 'd' has no extent}}
  func @f(%x: [s]) -> [d] {
    return %x
  }
}

// -----

// (Q2) of a result of an operation
tpsp.program <s = 4> {
  func @f(%x: [s]) {
    // expected-error @+1 {{index 'd' has no extent}}
    %y = broadcast %x -> [s, d]
    return
  }
}

// -----

// (Q3)
tpsp.program <s = 4> {
  // expected-error @+1 {{index 's' has extent 5 in this type and 4 in the program; write one of the two}}
  func @f(%x: tensor<5xf32, #tpsp.idx<s>>) {
    return
  }
}

// -----

// (Q3) of a result
tpsp.program <s = 4> {
  func @f(%x: [s]) {
    // expected-error @+1 {{index 's' has extent 5 in this type and 4 in the program}}
    %y = exp %x -> tensor<5xf32, #tpsp.idx<s>>
    return
  }
}

// -----

// (Q4)
tpsp.program <s = 4, d = 2> {
  func @f(%x: [s, d], %w: [d]) {
    // expected-error @+1 {{the operands and attributes of 'tpsp.einsum' do not determine its result: one is missing, or the result is to be written, as in -> [b, s, ?]}}
    %y = einsum %x, %w
    return
  }
}

// -----

// (Q4) neither has the other's indices
tpsp.program <s = 4, d = 2> {
  func @f(%x: [s], %w: [d]) {
    // expected-error @+1 {{the operands and attributes of 'tpsp.add' do not determine its result}}
    %y = add %x, %w
    return
  }
}

// -----

// (Q4)
tpsp.program <s = 4> {
  func @f() {
    // expected-error @+1 {{the operands and attributes of 'tpsp.iota' do not determine its result}}
    %y = iota {index = "s"}
    return
  }
}

// -----

// (Q4) where an attribute is missing
tpsp.program <s = 4, n = 2> {
  func @f(%x: [n, s]) {
    // expected-error @+1 {{the operands and attributes of 'tpsp.take' do not determine its result}}
    %y = take %x {at = 1}
    return
  }
}

// -----

// The short form is known within a program alone.
// expected-error @+1 {{tpsp.short_form is of a program in short form; write this in tpsp.program <...> { }}}
tpsp.func @f() {
  return
}

// -----

// expected-error @+3 {{is done 1000000 times; write a number from 1 to 65536}}
tpsp.program <s = 4> {
  func @f(%x: [s]) {
    %y = repeat 1000000 @g(%x) as "layer#.*"
    return
  }
}

// -----

// expected-error @+3 {{begins with number -1; write one from 0 to 65536}}
tpsp.program <s = 4> {
  func @f(%x: [s]) {
    %y = repeat 2 @g(%x) as "layer#.*" from -1
    return
  }
}

// -----

// (Q4) the element type does not follow
tpsp.program <s = 4> {
  func @f(%x: [s], %w: bf16[s]) {
    // expected-error @+1 {{operands of 'tpsp.add' have 'f32' and 'bf16'; write the result's, as in bf16[b, s, ?]}}
    %y = add %x, %w
    return
  }
}

// -----

// (Q4) operands of an operation that computes in one type
tpsp.program <b = 2, s = 4> {
  func @f(%x: f64[b, s], %w: bf16[s]) {
    // expected-error @+1 {{operands of 'tpsp.mul' have 'f64' and 'bf16', and it computes in one type; convert one, as in convert %x -> f64[s]}}
    %y = mul %x, %w
    return
  }
}

// -----

// And so it is.
tpsp.program <b = 2, s = 4> {
  func @f(%x: f64[b, s], %w: bf16[s]) -> f64[b, s] {
    %v = convert %w -> f64[s]
    %y = mul %x, %v
    return %y
  }
}

// -----

// (Q4) two results
tpsp.program <s = 4> {
  func @f(%x: [s]) {
    // expected-error @+1 {{'tpsp.attention' has 2 results; write the type of each, as in -> [b, s, d], f32[b, s]}}
    %y, %l = attention %x, %x, %x {query = "s", key = "t", feature = "k"}
    return
  }
}

// -----

// (Q4) more types than results
tpsp.program <s = 4> {
  func @f(%x: [s]) {
    // expected-error @+1 {{operation defines 2 results but was provided 1 to bind}}
    %y = exp %x -> [s], [s]
    return
  }
}

// -----

// (Q5)
tpsp.program <s = 4> {
  func @f(%x: [s]) {
    // expected-error @+1 {{'%z' is not defined in this function}}
    %y = add %x, %z
    return
  }
}

// -----

// (Q5)
tpsp.program <s = 4> {
  func @f(%x: [s]) {
    // expected-error @+1 {{operand #1 of 'tpsp.add' is made after its use; write what makes it first}}
    %y = add %x, %z
    %z = exp %x
    return
  }
}

// -----

// (Q5) and in a call
tpsp.program <s = 4> {
  func private @g(%x: [s], %y: [s]) {
    return
  }
  func @f(%x: [s]) {
    // expected-error @+1 {{'%late' is not defined in this function}}
    call @g(%x, %late)
    return
  }
}

// -----

// The type is last.
tpsp.program <s = 4> {
  func @f(%x: [s]) {
    // expected-error @+1 {{attributes stand before the result's type, as in reduce %x {...} -> [...]}}
    %y = reduce %x -> [] {kind = "max"}
    return
  }
}

// -----

// Attributes of another kind.
tpsp.program <s = 4> {
  func @f(%x: [s]) {
    // expected-error @+1 {{attribute 'factor' of 'tpsp.scale' takes a number, such as 0.5, not "two"}}
    %y = scale %x {factor = "two"}
    return
  }
}

// -----

tpsp.program <s = 4> {
  func @f(%x: [s]) {
    // expected-error @+1 {{attribute 'by' of 'tpsp.delay' takes a whole number, such as 1, not 5.000000e-01 : f64}}
    %y = delay %x {index = "s", by = 0.5}
    return
  }
}

// -----

tpsp.program <s = 4> {
  func @f(%x: [s]) {
    // expected-error @+1 {{attribute 'over' of 'tpsp.softmax' takes a name in quotes, such as "s", not 3 : i64}}
    %y = softmax %x {over = 3}
    return
  }
}

// -----

tpsp.program <s = 4> {
  func @f(%x: [s]) {
    // expected-error @+1 {{attribute 'reverse' of 'tpsp.cumsum' takes no value: it is written alone, not 1 : i64}}
    %y = cumsum %x {index = "s", reverse = 1}
    return
  }
}

// -----

tpsp.program <s = 4> {
  func @f(%x: [s]) {
    // expected-error @+1 {{attribute 'factor' of 'tpsp.scale' takes a number, such as 0.5, and is written without}}
    %y = scale %x {factor}
    return
  }
}

// -----

// (Q5) in a return, and of another function
tpsp.program <s = 4> {
  func @g(%w: [s]) {
    return
  }
  func @f(%x: [s]) -> [s] {
    // expected-error @+1 {{'%w' is not defined in this function}}
    return %w
  }
}

// -----

// (Q6)
tpsp.program <s = 4> {
  func private @g(%x: [s], param %w: [s]) {
    return
  }
  func @f(%x: [s]) {
    // expected-error @+1 {{@g has 2 arguments and is given 1; parameters may be left out with names, as in as "layer.*"}}
    repeat 2 @g(%x)
    return
  }
}

// -----

// (Q6) without names or repetitions, it is the call that says so
tpsp.program <s = 4> {
  func private @g(%x: [s], param %w: [s]) {
    return
  }
  func @f(%x: [s]) {
    // expected-error @+1 {{@g has 2 arguments and is given 1}}
    call @g(%x)
    return
  }
}

// -----

// (Q6)
tpsp.program <s = 4> {
  func private @g(%x: [s], %mask: [s], param %w: [s]) -> [s] {
    return %x
  }
  func @f(%x: [s]) {
    // expected-error @+1 {{argument #1 of @g is no parameter; give it, or mark it 'param'}}
    %y = call @g(%x) as "g.*"
    return
  }
}

// -----

// (Q6)
tpsp.program <s = 4> {
  func private @g(%x: [s]) -> [s] {
    return %x
  }
  func @f(%x: [s]) {
    // expected-error @+1 {{@g has 1 results, not 2}}
    %y, %z = repeat 2 @g(%x) as "g.*"
    return
  }
}

// -----

// (Q6)
tpsp.program <s = 4> {
  func @f(%x: [s]) {
    // expected-error @+1 {{there is no function @g in this program}}
    %y = call @g(%x) as "g.*"
    return
  }
}

// -----

// (Q6) the callee's parameters are known above the call
tpsp.program <s = 4> {
  func @f(%x: [s]) {
    // expected-error @+1 {{@g is not in short form above this call; write it there}}
    %y = call @g(%x) as "g.*"
    return
  }
  func private @g(%x: [s], param %w: [s]) -> [s] {
    return %x
  }
}

// -----

// (Q6) a function may not call itself
tpsp.program <s = 4> {
  func @g(%x: [s], param %w: [s]) -> [s] {
    // expected-error @+1 {{@g calls itself, which never ends; a program is a list of operations, so write them, or 'repeat' another function}}
    %y = call @g(%x) as "g.*"
    return %y
  }
}

// -----

// (Q7)
tpsp.program <s = 4> {
  func private @g(%x: [s], param %w, %v: [s]) -> [s] {
    return %x
  }
  func @f(%x: [s]) {
    // expected-error @+1 {{"layer" calls 2 parameters alike; write * for the parameter, as in "layer.*"}}
    %y = call @g(%x) as "layer"
    return
  }
}

// -----

// (Q7)
tpsp.program <s = 4> {
  func private @g(%x: [s], param %w: [s]) -> [s] {
    return %x
  }
  func @f(%x: [s]) {
    // expected-error @+1 {{"layer.*" calls the parameters of 3 repetitions alike; write # for the repetition, as in "layer#.*"}}
    %y = repeat 3 @g(%x) as "layer.*"
    return
  }
}

// -----

// (Q8)
tpsp.program <s = 4, d = 2> {
  mesh @mesh <tp = 2>
  func private @g(%x: [s, d], param %w: [s]) -> [s@tp, d] {
    %y = reshard %x -> [s@tp, d]
    return %y
  }
  func @f(%x: [s, d]) {
    // expected-error @+1 {{@g cannot be repeated: it returns ('tensor<4x2xf32, #tpsp.idx<s@tp, d>>'), which is not what its first operands are; return these}}
    %y = repeat 3 @g(%x) as "layer#.*"
    return
  }
}

// -----

// expected-error @+3 {{is done 0 times; write a number from 1 to 65536}}
tpsp.program <s = 4> {
  func @f(%x: [s]) {
    %y = repeat 0 @g(%x) as "layer#.*"
    return
  }
}

// -----

// (Q9)
tpsp.program <s = 4> {
  mesh @mesh <tp = 2>
  func private @g(%x: [s@tp]) {
    return
  }
  func @f(%x: [s]) -> [s] {
    // expected-error @+1 {{this is wanted as [s] and as [s@tp]; write one, and 'reshard' to the other}}
    %y = exp %x
    call @g(%y)
    return %y
  }
}

// -----

// (Q9)
tpsp.program <s = 4, t = s> {
  func @f(%x: [s]) -> [t] {
    // expected-error @+1 {{this is [s], and @f returns [t]; return what is [t], or write [s] in the type of the function}}
    %y = exp %x
    return %y
  }
}

// -----

// (Q9) a call, and elements
tpsp.program bf16 <s = 4, t = 3> {
  func private @g(%x: f32[s, t]) {
    return
  }
  func @f(%x: [s]) {
    // expected-error @+1 {{this is [s], and @g takes f32[s, t]; give what is f32[s, t], or write [s] in the type of the function}}
    %y = exp %x
    call @g(%y)
    return
  }
}

// -----

// (Q9) types without extents in the program are written in full
tpsp.program <s = 4> {
  func.func private @g(tensor<4xf32>)
  func @f(%x: [s]) {
    // expected-error @+1 {{this is [s], and @g takes tensor<4xf32>; give}}
    %y = exp %x
    call @g(%y)
    return
  }
}

// -----

tpsp.program <s = 4> {
  // expected-error @+1 {{expected a tensor's subscripts, as in [b, s@tp, d] or bf16[b, s], not 'index'}}
  func @f(%x: index) {
    return
  }
}

// -----

tpsp.program <s = 4> {
  // expected-error @+1 {{@f has no body; write at least 'return'}}
  func @f(%x: [s]) {
  }
}

// -----

// Within a function in short form only results have types.
tpsp.program <s = 4> {
  // expected-note @+1 {{prior use here}}
  func @f(%x: [s]) {
    // expected-error @+1 {{use of value '%x' expects different type than prior uses}}
    %y = exp %x : tensor<4xf32, #tpsp.idx<s>>
    return
  }
}

// -----

// And there are none in a function in long form.
// expected-note @+1 {{prior use here}}
func.func @f(%x: tensor<4xf32, #tpsp.idx<s>>) {
  // expected-error @+1 {{use of value '%x' expects different type than prior uses: '!tpsp.inferred' vs 'tensor<4xf32, #tpsp.idx<s>>'}}
  %y = tpsp.exp %x
  return
}

// -----

// expected-error @+1 {{is a way to write, not an operation; write it without quotes}}
"tpsp.program"() ({
}) : () -> ()

// -----

// expected-error @+1 {{is a way to write, not an operation; write it without quotes}}
"tpsp.func"() ({
}) : () -> ()

// -----

// (Q3) of a function in long form
tpsp.program <b = 4, d = 6> {
  // expected-error @+1 {{index 'd' has extent 7 in this type and 6 in the program; write one of the two}}
  func.func @g(%x: tensor<4x7xf32, #tpsp.idx<b, d>>) {
    return
  }
}

// -----

// (Q6) More calls, all of them inlined, than anyone writes.
tpsp.program <s = 4> {
  func private @one(%x: [s], param %w: [s]) -> [s] {
    %y = add %x, %w
    return %y
  }
  func private @some(%x: [s]) -> [s] {
    %y = repeat 300 @one(%x) as "a#"
    return %y
  }
  func @all(%x: [s]) -> [s] {
    // expected-error @+1 {{with what @some itself calls, these are 90300 calls in all; write at most 65536}}
    %y = repeat 300 @some(%x) as "b#.*"
    return %y
  }
}
