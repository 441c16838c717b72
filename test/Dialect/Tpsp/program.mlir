// Programs in short form (tpsp.program, tpsp.func) are ordinary modules: types
// are inferred, extents and parameters' names put in, repetitions made.
// RUN: tpsp-opt %s --split-input-file --verify-roundtrip | FileCheck %s --implicit-check-not=inferred --implicit-check-not=short_form

// Extents by name, one of another name; element types; literal types.
// CHECK: module {
// CHECK-NEXT: tpsp.mesh @mesh <tp = 2 : model>
// CHECK-LABEL: func.func @extents
// CHECK-SAME: %arg0: tensor<3x10xf32, #tpsp.idx<b, s@tp>> {tpsp.name = "x"}
// CHECK-SAME: %arg1: tensor<10xi32, #tpsp.idx<t>> {tpsp.below = 4 : i64, tpsp.name = "ids"}
// CHECK-SAME: %arg2: tensor<3x7xbf16, #tpsp.idx<b, d>> {tpsp.param = "w"}
// CHECK-SAME: %arg3: tensor<3x7xbf16, #tpsp.idx<b, d>> {tpsp.param = "other.v"}
// CHECK-SAME: %arg4: tensor<1x3xf64, #tpsp.idx<u, b>> {tpsp.frozen, tpsp.param = "z"}
// CHECK-SAME: -> tensor<3x10xf32, #tpsp.idx<b, s@tp>>
!z = tensor<1x3xf64, #tpsp.idx<u, b>>
tpsp.program <b = 3, s = 10, t = s, d = 7> {
  mesh @mesh <tp = 2 : model>
  func @extents(%x: [b, s@tp], %ids: i32[t] {tpsp.below = 4},
                param %w, %v "other.v": bf16[b, d], param %z: !z {tpsp.frozen}) -> [b, s@tp] {
    return %x
  }
}

// -----

// Types that operands determine: pointwise, rows, a block, integers, attention.
// CHECK-LABEL: func.func @inferred
tpsp.program <b = 2, s = 6, t = s, h = 3, k = 4, f = 5, v = 11, d = 4, n = 2, e = 2> {
  func @inferred(%x: [b, s, d], %y: [d], %q: [b, s, h, k], %kk: [b, t, h, k], %vv: [b, t, h, f],
                 %ids: i32[b, s], param %table: bf16[v, d], %logits: [b, s, v], %blocks: [n, s, d]) {
    // CHECK: tpsp.add %{{.*}} -> tensor<2x6x4xf32, #tpsp.idx<b, s, d, ?>>
    %add = add %y, %x
    // CHECK: tpsp.gelu %{{.*}} : tensor<2x6x4xf32, #tpsp.idx<b, s, d, ?>>
    %gelu = gelu %add
    // CHECK: tpsp.softmax %{{.*}} {over = "s", scale = 2.000000e+00 : f64} : tensor<2x6x4xf32, #tpsp.idx<b, s, d, ?>>
    %softmax = softmax %gelu {over = "s", scale = 2}
    // CHECK: tpsp.rms_norm {{.*}} -> tensor<2x6x4xf32, #tpsp.idx<b, s, d, ?>>
    %norm = rms_norm %softmax, %y
    // CHECK: tpsp.attention {{.*}} -> tensor<2x6x3x5xf32, #tpsp.idx<b, s, h, f, ?>>
    %o = attention %q, %kk, %vv {query = "s", key = "t", feature = "k", scale = 0.5, causal}
    // CHECK: tpsp.embedding {{.*}} -> tensor<2x6x4xbf16, #tpsp.idx<b, s, d, ?>>
    %rows = embedding %ids, %table {vocabulary = "v"}
    // CHECK: tpsp.cross_entropy {{.*}} -> tensor<2x6xf32, #tpsp.idx<b, s, ?>>
    %loss = cross_entropy %logits, %ids {over = "v"}
    // CHECK: tpsp.take {{.*}} -> tensor<6x4xf32, #tpsp.idx<s, d, ?>>
    %one = take %blocks {index = "n", at = 1}
    // CHECK: tpsp.router {{.*}} -> tensor<2x6x2xi32, #tpsp.idx<b, s, e, ?>>
    %best = router %logits {expert = "v", choice = "e"}
    // CHECK: tpsp.count_earlier {{.*}} : tensor<2x6x2xi32, #tpsp.idx<b, s, e, ?>>
    %count = count_earlier %best {over = ["s"], values = 11}
    // CHECK: tpsp.stop_gradient %{{.*}} : tensor<2x6x4xf32, #tpsp.idx<b, s, d>> -> tensor<2x6x4xf32, #tpsp.idx<b, s, d, ?>>
    %stopped = stop_gradient %x
    // Written types: placed, of other elements, complete, or of two results.
    // CHECK: tpsp.reduce {{.*}} -> tensor<6xf32, #tpsp.idx<s>>
    %sum = reduce %x -> [s]
    // CHECK: tpsp.convert {{.*}} -> tensor<2x6x4xbf16, #tpsp.idx<b, s, d, ?>>
    %bf16 = convert %x -> bf16[b, s, d, ?]
    // CHECK: tpsp.mean {{.*}} -> tensor<f32, #tpsp.idx<>>
    %mean = mean %x -> tensor<f32, #tpsp.idx<>>
    // CHECK: tpsp.iota {index = "s"} : () -> tensor<6xf32, #tpsp.idx<s>>
    %iota = iota {index = "s"} -> [s]
    // CHECK: tpsp.attention {{.*}} -> (tensor<2x6x3x5xf32, #tpsp.idx<b, s, h, f>>, tensor<2x3x6xf32, #tpsp.idx<b, h, s>>)
    %oo, %statistic = attention %q, %kk, %vv {query = "s", key = "t", feature = "k"} -> [b, s, h, f], f32[b, h, s]
    return
  }
}

// -----

// A result without a written type is placed as its user says: the function, or
// the function that is called, wherever that stands.
tpsp.program <b = 4, d = 2> {
  mesh @mesh <dp = 2 : data>
  // CHECK-LABEL: func.func @caller
  func @caller(%x: [b, d]) -> [b@dp, d] {
    // CHECK: tpsp.exp %arg0 : tensor<4x2xf32, #tpsp.idx<b, d>> -> tensor<4x2xf32, #tpsp.idx<b, d@dp>>
    %y = exp %x
    // CHECK: call @callee(%{{.*}}) : (tensor<4x2xf32, #tpsp.idx<b, d@dp>>) -> tensor<4x2xf32, #tpsp.idx<b, d>>
    %z = call @callee(%y)
    // CHECK: tpsp.log {{.*}} -> tensor<4x2xf32, #tpsp.idx<b@dp, d>>
    %w = log %z
    return %w
  }
  // CHECK: func.func private @callee(%arg0: tensor<4x2xf32, #tpsp.idx<b, d@dp>>) ->
  func private @callee(%x: [b, d@dp]) -> [b, d] {
    %y = reshard %x -> [b, d]
    return %y
  }
}

// -----

// Repeated calls: parameters that a call leaves out become the caller's, after
// its own, with the callee's attributes.
tpsp.program <d = 3> {
  // CHECK-LABEL: func.func private @layer(%arg0: tensor<3xf32, #tpsp.idx<d>>, %arg1: tensor<3xf32, #tpsp.idx<d>>, %arg2: tensor<3xf32, #tpsp.idx<d>>, %arg3: tensor<3xf32, #tpsp.idx<d>> {tpsp.frozen}) ->
  func private @layer(%x: [d], %mask: [d], param %w: [d], param %u "sub.u": [d] {tpsp.frozen}) -> [d] {
    %y = mul %x, %w
    %z = mul %y, %u
    %o = mul %z, %mask
    return %o
  }
  // CHECK-LABEL: func.func @model
  // CHECK-SAME: %[[X:.*]]: tensor<3xf32, #tpsp.idx<d>> {tpsp.name = "x"},
  // CHECK-SAME: %[[G:.*]]: {{.*}} {tpsp.param = "g"},
  // CHECK-SAME: %[[W5:.*]]: {{.*}} {tpsp.param = "h.5.w"}, %[[U5:.*]]: {{.*}} {tpsp.frozen, tpsp.param = "h.5.sub.u"},
  // CHECK-SAME: %[[W6:.*]]: {{.*}} {tpsp.param = "h.6.w"}, %[[U6:.*]]: {{.*}} {tpsp.frozen, tpsp.param = "h.6.sub.u"},
  // CHECK-SAME: %[[W:.*]]: {{.*}} {tpsp.param = "w last"}, %[[U:.*]]: {{.*}} {tpsp.frozen, tpsp.param = "sub.u last"})
  // CHECK-SAME: -> (tensor<3xf32, #tpsp.idx<d>> {tpsp.name = "y"}, tensor<3xf32, #tpsp.idx<d>>)
  func @model(%x: [d], param %g: [d]) -> ([d] {tpsp.name = "y"}, [d]) {
    // CHECK: %[[A:.*]] = call @layer(%[[X]], %[[G]], %[[W5]], %[[U5]])
    // CHECK: %[[B:.*]] = call @layer(%[[A]], %[[G]], %[[W6]], %[[U6]])
    %y = repeat 2 @layer(%x, %g) as "h.#.*" from 5
    // CHECK: %[[C:.*]] = call @layer(%[[B]], %[[X]], %[[W]], %[[U]])
    %z = call @layer(%y, %x) as "* last"
    // CHECK: %[[D:.*]] = call @layer(%[[C]], %[[C]], %[[G]], %[[G]])
    // CHECK: %[[E:.*]] = call @layer(%[[D]], %[[C]], %[[G]], %[[G]])
    // CHECK: %[[F:.*]] = call @layer(%[[E]], %[[C]], %[[G]], %[[G]])
    %s = repeat 3 @layer(%z, %z, %g, %g)
    // CHECK: %[[T:.*]] = call @layer(%[[X]], %[[G]], %[[G]], %[[G]])
    %t = repeat 1 @layer(%x, %g, %g, %g)
    // CHECK: return %[[F]], %[[T]]
    return %s, %t
  }
}

// -----

// Element types of tensors.
// CHECK-LABEL: func.func @elements
// CHECK-SAME: %arg0: tensor<3xbf16, #tpsp.idx<s>> {{{.*}}}, %arg1: tensor<3xi32, #tpsp.idx<s>>
// CHECK-SAME: -> (tensor<3xbf16, #tpsp.idx<s>>, tensor<3xf16, #tpsp.idx<s>>)
tpsp.program bf16 <s = 3> {
  func @elements(%x: [s], %i: i32[s]) -> ([s], f16[s]) {
    // CHECK: tpsp.iota {{.*}} -> tensor<3xbf16, #tpsp.idx<s, ?>>
    %iota = iota {index = "s"} -> [s, ?]
    // CHECK: tpsp.add {{.*}} -> tensor<3xbf16, #tpsp.idx<s>>
    %y = add %x, %iota
    %z = convert %y -> f16[s]
    return %y, %z
  }
}

// -----

// A result with `?` is placed by the type of the function that returns it.
// CHECK-LABEL: func.func @placed_by_use
tpsp.program <b = 4, d = 6> {
mesh @mesh <tp = 2 : model>
func @placed_by_use(%x: [b, d]) -> [b, d@tp] {
  // CHECK: tpsp.mul {{.*}} -> tensor<4x6xf32, #tpsp.idx<b, d@tp>>
  %y = mul %x, %x -> [b, d, ?]
  return %y
}
}

// -----

// A program may have functions in long form, no extents, and nothing at all.
// CHECK-LABEL: func.func @long
// CHECK-LABEL: func.func @short
tpsp.program {
  func.func @long(%x: tensor<2xf32, #tpsp.idx<a>>) -> tensor<2xf32, #tpsp.idx<a>> {
    %y = tpsp.exp %x : tensor<2xf32, #tpsp.idx<a>>
    return %y : tensor<2xf32, #tpsp.idx<a>>
  }
  func @short(%x: tensor<2xf32, #tpsp.idx<a>>) -> tensor<2xf32, #tpsp.idx<a>> {
    %y = call @long(%x)
    return %y
  }
}

// -----

// CHECK: module {
// CHECK-NEXT: }
tpsp.program <> {
}
