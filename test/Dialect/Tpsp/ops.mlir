// RUN: tpsp-opt %s | tpsp-opt | FileCheck %s
// RUN: tpsp-opt %s --verify-roundtrip
// RUN: tpsp-opt %s --mlir-print-op-generic | tpsp-opt | FileCheck %s

tpsp.mesh @mesh <dp = 2 : data, tp = 4 : model>

!x = tensor<2x8x16xf32, #tpsp.idx<b, s@tp, d>>
!row = tensor<16xf32, #tpsp.idx<d>>
!sum = tensor<2x8xf32, #tpsp.idx<b, s@tp>>

// CHECK-LABEL: @contraction
func.func @contraction(%w: tensor<32x16xf32, #tpsp.idx<e@tp, d>>, %x: !x) {
  // CHECK: tpsp.einsum %{{.*}}, %{{.*}} : (tensor<32x16xf32, #tpsp.idx<e@tp, d>>, tensor<2x8x16xf32, #tpsp.idx<b, s@tp, d>>) -> tensor<2x8x32xf32, #tpsp.idx<b, s, e@tp>>
  %0 = tpsp.einsum %w, %x : (tensor<32x16xf32, #tpsp.idx<e@tp, d>>, !x) -> tensor<2x8x32xf32, #tpsp.idx<b, s, e@tp>>
  // Operands of one type need no list.
  // CHECK: tpsp.einsum %{{.*}}, %{{.*}} : tensor<2x8x16xf32, #tpsp.idx<b, s@tp, d>> -> tensor<16xf32, #tpsp.idx<d>>
  %1 = tpsp.einsum %x, %x : !x -> !row
  // CHECK: tpsp.einsum %{{.*}} : tensor<2x8x16xf32, #tpsp.idx<b, s@tp, d>> -> tensor<f32, #tpsp.idx<>>
  %2 = tpsp.einsum %x : !x -> tensor<f32, #tpsp.idx<>>
  // CHECK: tpsp.reduce %{{.*}} : tensor<2x8x16xf32, #tpsp.idx<b, s@tp, d>> -> tensor<2x8xf32, #tpsp.idx<b, s@tp>>
  %3 = tpsp.reduce %x : !x -> !sum
  // CHECK: tpsp.reduce %{{.*}} {kind = "max"} : tensor<2x8x16xf32
  %4 = tpsp.reduce %x {kind = "max"} : !x -> !sum
  return
}

// CHECK-LABEL: @pointwise
func.func @pointwise(%x: !x, %row: !row) {
  // CHECK: tpsp.add %{{.*}}, %{{.*}} : tensor<2x8x16xf32, #tpsp.idx<b, s@tp, d>>
  %0 = tpsp.add %x, %x : !x
  // CHECK: tpsp.add %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x8x16xf32, #tpsp.idx<b, s@tp, d>>, tensor<16xf32, #tpsp.idx<d>>, tensor<2x8x16xf32, #tpsp.idx<b, s@tp, d>>) -> tensor<2x8x16xf32, #tpsp.idx<b, s@tp, d>>
  %1 = tpsp.add %x, %row, %x : (!x, !row, !x) -> !x
  // CHECK: tpsp.sub
  %2 = tpsp.sub %x, %row : (!x, !row) -> !x
  // CHECK: tpsp.mul
  %3 = tpsp.mul %row, %x : (!row, !x) -> !x
  // CHECK: tpsp.div
  %4 = tpsp.div %x, %x : !x
  // CHECK: tpsp.broadcast %{{.*}} : tensor<16xf32, #tpsp.idx<d>> -> tensor<2x8x16xf32, #tpsp.idx<b, s@tp, d>>
  %5 = tpsp.broadcast %row : !row -> !x
  // CHECK: tpsp.scale %{{.*}} {factor = 5.000000e-01 : f64}
  %6 = tpsp.scale %x {factor = 0.5} : !x
  // CHECK: tpsp.shift %{{.*}} {by = 1.000000e-05 : f64}
  %7 = tpsp.shift %x {by = 1.0e-5} : !x
  // CHECK: tpsp.causal_mask %{{.*}} {fill = 0xFFF0000000000000 : f64, key = "d", query = "s"}
  %8 = tpsp.causal_mask %x {query = "s", key = "d", fill = 0xFFF0000000000000 : f64} : !x
  // CHECK: tpsp.rope_matrix {feature = "k.pair", in = "k.in", out = "k.out", pairs = 4 : i64, position = "s", theta = 1.000000e+04 : f64} : () -> tensor<8x2x2x4xf32, #tpsp.idx<s@tp, k.out, k.in, k.pair>>
  %9 = tpsp.rope_matrix {position = "s", feature = "k.pair", out = "k.out", in = "k.in", theta = 1.0e4, pairs = 4} : () -> tensor<8x2x2x4xf32, #tpsp.idx<s@tp, k.out, k.in, k.pair>>
  return
}

// CHECK-LABEL: @unary
func.func @unary(%x: !x) {
  // CHECK: tpsp.neg %{{.*}} : tensor<2x8x16xf32, #tpsp.idx<b, s@tp, d>>
  %0 = tpsp.neg %x : !x
  // CHECK: tpsp.exp
  %1 = tpsp.exp %x : !x
  // CHECK: tpsp.log
  %2 = tpsp.log %x : !x
  // CHECK: tpsp.tanh
  %3 = tpsp.tanh %x : !x
  // CHECK: tpsp.sqrt
  %4 = tpsp.sqrt %x : !x
  // CHECK: tpsp.rsqrt
  %5 = tpsp.rsqrt %x : !x
  // CHECK: tpsp.square
  %6 = tpsp.square %x : !x
  // CHECK: tpsp.sigmoid
  %7 = tpsp.sigmoid %x : !x
  // CHECK: tpsp.relu
  %8 = tpsp.relu %x : !x
  // CHECK: tpsp.silu
  %9 = tpsp.silu %x : !x
  // CHECK: tpsp.gelu %
  %10 = tpsp.gelu %x : !x
  // CHECK: tpsp.gelu_erf
  %11 = tpsp.gelu_erf %x : !x
  // CHECK: tpsp.slope %{{.*}} {of = "gelu"}
  %12 = tpsp.slope %x {of = "gelu"} : !x
  return
}

// CHECK-LABEL: @rows
func.func @rows(%x: !x, %row: !row) {
  // CHECK: tpsp.softmax %{{.*}} {over = "d"} : tensor
  %0 = tpsp.softmax %x {over = "d"} : !x
  // CHECK: tpsp.softmax %{{.*}} {causal = "s", over = "d", scale = 1.250000e-01 : f64} : tensor
  %1 = tpsp.softmax %x {over = "d", causal = "s", scale = 0.125} : !x
  // CHECK: tpsp.softmax %{{.*}}, %{{.*}} {over = "s"} : (tensor
  %sunk = tpsp.softmax %x, %row {over = "s"} : (!x, !row) -> !x
  // CHECK: tpsp.rms_norm %{{.*}}, %{{.*}} : (tensor
  %2 = tpsp.rms_norm %x, %row : (!x, !row) -> !x
  // CHECK: tpsp.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {eps = 1.250000e-01 : f64} : (tensor
  %3 = tpsp.layer_norm %x, %row, %row {eps = 0.125} : (!x, !row, !row) -> !x
  // CHECK: tpsp.rope %{{.*}} {feature = "d", position = "s"} : tensor
  %4 = tpsp.rope %x {position = "s", feature = "d"} : !x
  // CHECK: tpsp.rope %{{.*}} {feature = "d", inverse, position = "s", theta = 5.000000e+05 : f64} : tensor
  %5 = tpsp.rope %x {position = "s", feature = "d", theta = 5.0e5, inverse} : !x
  // CHECK: tpsp.rope %{{.*}} {fast_turns = 4.000000e+00 : f64, feature = "d", position = "s", slow_turns = 1.000000e+00 : f64, stretch = 8.000000e+00 : f64, trained = 8.192000e+03 : f64} : tensor
  %6 = tpsp.rope %x {position = "s", feature = "d", stretch = 8, trained = 8192, slow_turns = 1, fast_turns = 4} : !x
  return
}

!q = tensor<2x8x4x2x16xf32, #tpsp.idx<b, s, h@tp, r, k>>
!k = tensor<2x8x4x16xf32, #tpsp.idx<b, t, h@tp, k>>
!v = tensor<2x8x4x32xf32, #tpsp.idx<b, t, h@tp, v>>
!o = tensor<2x8x4x2x32xf32, #tpsp.idx<b, s, h@tp, r, v>>

// CHECK-LABEL: @attention
func.func @attention(%q: !q, %k: !k, %v: !v) {
  // Grouped queries, and a value's feature of the same name as the scores'.
  // CHECK: tpsp.attention %{{.*}}, %{{.*}}, %{{.*}} {causal, feature = "k", key = "t", query = "s", scale = 2.500000e-01 : f64} : (tensor
  %0 = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", scale = 0.25, causal} : (!q, !k, !k) -> !q
  // CHECK: tpsp.attention %{{.*}}, %{{.*}}, %{{.*}} {feature = "k", key = "t", query = "s"} : (tensor
  %1 = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k"} : (!q, !k, !v) -> !o
  return
}

!ofscores = tensor<8x8xf32, #tpsp.idx<s, t>>
!ofqueries = tensor<2x8xi32, #tpsp.idx<b, s>>
!ofkeys = tensor<2x8xi32, #tpsp.idx<b, t>>
!ofbatch = tensor<2xi32, #tpsp.idx<b>>
!ofheads = tensor<4xi32, #tpsp.idx<h@tp>>
!ofrows = tensor<2x4x2x8xf32, #tpsp.idx<b, h@tp, r, s>>
!ofpairs = tensor<2x8x8xf32, #tpsp.idx<b, s, t>>
!sinks = tensor<4x2xf32, #tpsp.idx<h@tp, r>>

// CHECK-LABEL: @attention_with_sinks
func.func @attention_with_sinks(%q: !q, %k: !k, %bias: !ofscores, %sink: !sinks, %n: !ofbatch, %step: tensor<f32, #tpsp.idx<>>) {
  // CHECK: tpsp.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[SINK:.*]], %{{.*}} {feature
  %0 = tpsp.attention %q, %k, %k, %sink, %n {query = "s", key = "t", feature = "k"} : (!q, !k, !k, !sinks, !ofbatch) -> !q
  // CHECK: tpsp.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[SINK]], %{{.*}} {dropout
  %1 = tpsp.attention %q, %k, %k, %bias, %sink, %step {query = "s", key = "t", feature = "k", dropout = 0.1, seed = 3} : (!q, !k, !k, !ofscores, !sinks, tensor<f32, #tpsp.idx<>>) -> !q
  return
}

// CHECK-LABEL: @attention_of_segments
func.func @attention_of_segments(%q: !q, %k: !k, %bias: !ofscores, %is: !ofqueries, %it: !ofkeys, %o: !q, %s: !ofrows, %z: !ofpairs, %n: !ofbatch, %nh: !ofheads) {
  // CHECK: tpsp.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {causal, chunk = 6 : i64, feature = "k", key = "t", query = "s", softcap = 5.000000e+01 : f64, window = 4 : i64} : (tensor
  %0 = tpsp.attention %q, %k, %k, %bias, %is, %it {query = "s", key = "t", feature = "k", causal, window = 4, chunk = 6, softcap = 50} : (!q, !k, !k, !ofscores, !ofqueries, !ofkeys) -> !q
  // CHECK: tpsp.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[N:.*]] {feature
  %lengths = tpsp.attention %q, %k, %k, %n {query = "s", key = "t", feature = "k"} : (!q, !k, !k, !ofbatch) -> !q
  // CHECK: tpsp.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {feature
  %both = tpsp.attention %q, %k, %k, %bias, %is, %it, %nh {query = "s", key = "t", feature = "k"} : (!q, !k, !k, !ofscores, !ofqueries, !ofkeys, !ofheads) -> !q
  // CHECK: %gq, %gk, %gv, %gbias = tpsp.attention_gradient
  %1:4 = tpsp.attention_gradient %q, %k, %k, %o, %s, %o, %bias {query = "s", key = "t", feature = "k"} : (!q, !k, !k, !q, !ofrows, !q, !ofscores) -> (!q, !k, !k, !ofscores)
  // CHECK: tpsp.end_mask %{{.*}} {end = 3 : i64, fill = -1.000000e+30 : f64, index = "t"} : tensor
  %end = tpsp.end_mask %z {index = "t", end = 3, fill = -1e30} : !ofpairs
  // CHECK: tpsp.segment_mask %{{.*}}, %{{.*}}, %{{.*}} {fill = -1.000000e+30 : f64} : (tensor
  %2 = tpsp.segment_mask %z, %is, %it {fill = -1e30} : (!ofpairs, !ofqueries, !ofkeys) -> !ofpairs
  // CHECK: tpsp.length_mask %{{.*}}, %{{.*}} {fill = -1.000000e+30 : f64, index = "t"} : (tensor
  %length = tpsp.length_mask %z, %n {index = "t", fill = -1e30} : (!ofpairs, !ofbatch) -> !ofpairs
  // CHECK: tpsp.label_mask %{{.*}}, %{{.*}} : (tensor
  %labelled = tpsp.label_mask %z, %n : (!ofpairs, !ofbatch) -> !ofpairs
  // CHECK: tpsp.mean %{{.*}}, %{{.*}} : (tensor
  %counted = tpsp.mean %z, %n : (!ofpairs, !ofbatch) -> tensor<f32, #tpsp.idx<>>
  // CHECK: tpsp.causal_mask %{{.*}} {chunk = 5 : i64, fill = 0.000000e+00 : f64, key = "t", query = "s", window = 3 : i64}
  %3 = tpsp.causal_mask %z {query = "s", key = "t", fill = 0, window = 3, chunk = 5} : !ofpairs
  // CHECK: tpsp.causal_mask %{{.*}} {fill = 0.000000e+00 : f64, key = "t", query = "s", shard = "b"}
  %shards = tpsp.causal_mask %z {query = "s", key = "t", fill = 0, shard = "b"} : !ofpairs
  // CHECK: tpsp.clamp %{{.*}} {high = 1.000000e+00 : f64}
  %4 = tpsp.clamp %z {high = 1} : !ofpairs
  // CHECK: tpsp.add_bias %{{.*}}, %{{.*}} : tensor
  %biased = tpsp.add_bias %z, %z : (!ofpairs, !ofpairs) -> !ofpairs
  // CHECK: tpsp.softmax %{{.*}} {hides, over = "t"}
  %weights = tpsp.softmax %biased {over = "t", hides} : !ofpairs
  return
}

!whole = tensor<2x8xf32, #tpsp.idx<b, s>>
!first = tensor<2x3xf32, #tpsp.idx<b, p>>
!second = tensor<2x5xf32, #tpsp.idx<b, r>>

// CHECK-LABEL: @runs
func.func @runs(%a: !first, %c: !second) {
  // CHECK: tpsp.concat %{{.*}}, %{{.*}} {index = "s"} : (tensor<2x3xf32, {{.*}}>, tensor<2x5xf32, {{.*}}>) -> tensor<2x8xf32, #tpsp.idx<b, s>>
  %0 = tpsp.concat %a, %c {index = "s"} : (!first, !second) -> !whole
  // CHECK: tpsp.cut %{{.*}} {from = 3 : i64, index = "s"} : tensor<2x8xf32, {{.*}}> -> tensor<2x5xf32, #tpsp.idx<b, r>>
  %1 = tpsp.cut %0 {index = "s", from = 3} : !whole -> !second
  // CHECK: tpsp.pad %{{.*}} {before = 1 : i64, index = "s"} : tensor<2x5xf32, {{.*}}> -> tensor<2x8xf32, #tpsp.idx<b, s>>
  %2 = tpsp.pad %1 {index = "s", before = 1} : !second -> !whole
  // CHECK: tpsp.constant {value = 2.500000e+00 : f64} : () -> tensor<2x8xf32
  %3 = tpsp.constant {value = 2.5} : () -> !whole
  // CHECK: tpsp.iota {index = "s"} : () -> tensor<2x8xf32
  %4 = tpsp.iota {index = "s"} : () -> !whole
  return
}

!decay = tensor<8xf32, #tpsp.idx<s>>

// CHECK-LABEL: @sequences
func.func @sequences(%x: !whole, %a: !decay) {
  // CHECK: tpsp.scan %{{.*}}, %{{.*}} {index = "s"} : (tensor<2x8xf32, {{.*}}>, tensor<8xf32, {{.*}}>) -> tensor<2x8xf32, #tpsp.idx<b, s>>
  %0 = tpsp.scan %x, %a {index = "s"} : (!whole, !decay) -> !whole
  // CHECK: tpsp.cumsum %{{.*}} {index = "s", reverse} : tensor<2x8xf32
  %1 = tpsp.cumsum %x {index = "s", reverse} : !whole
  // CHECK: tpsp.delay %{{.*}} {index = "s"} : tensor<2x8xf32
  %2 = tpsp.delay %x {index = "s", by = 1} : !whole
  // CHECK: tpsp.delay %{{.*}} {by = -2 : i64, index = "s"} : tensor<2x8xf32
  %3 = tpsp.delay %x {index = "s", by = -2} : !whole
  // CHECK: tpsp.hand_on %{{.*}} {by = -2 : i64, index = "s"} : tensor<2x8xf32
  %handed = tpsp.hand_on %x {index = "s", by = -2} : !whole
  // CHECK: tpsp.hand_on %{{.*}} {by = 1 : i64, index = "s", mirrored} : tensor<2x8xf32
  %mirrored = tpsp.hand_on %x {index = "s", by = 1, mirrored} : !whole
  return
}

// CHECK-LABEL: @views
func.func @views(%x: !x) {
  // CHECK: tpsp.rename %{{.*}} : tensor<2x8x16xf32, #tpsp.idx<b, s@tp, d>> -> tensor<2x8x16xf32, #tpsp.idx<b, t@tp, d>>
  %0 = tpsp.rename %x : !x -> tensor<2x8x16xf32, #tpsp.idx<b, t@tp, d>>
  // CHECK: tpsp.split %{{.*}} : tensor<2x8x16xf32, #tpsp.idx<b, s@tp, d>> -> tensor<2x8x4x4xf32, #tpsp.idx<b, s@tp, h, k>>
  %1 = tpsp.split %x : !x -> tensor<2x8x4x4xf32, #tpsp.idx<b, s@tp, h, k>>
  // CHECK: tpsp.merge %{{.*}} : tensor<2x8x4x4xf32, #tpsp.idx<b, s@tp, h, k>> -> tensor<16x16xf32, #tpsp.idx<n, d>>
  %2 = tpsp.merge %1 : tensor<2x8x4x4xf32, #tpsp.idx<b, s@tp, h, k>> -> tensor<16x16xf32, #tpsp.idx<n, d>>
  // CHECK: tpsp.reshard %{{.*}} : tensor<2x8x16xf32, #tpsp.idx<b, s@tp, d>> -> tensor<2x8x16xf32, #tpsp.idx<b@dp, s, d@tp>>
  %3 = tpsp.reshard %x : !x -> tensor<2x8x16xf32, #tpsp.idx<b@dp, s, d@tp>>
  return
}

!wide = tensor<2x8x16xf32, #tpsp.idx<b, s@tp, d>>
!narrow = tensor<2x8x16xbf16, #tpsp.idx<b, s@tp, d>>
!stat = tensor<2x4x2x8xf32, #tpsp.idx<b, h@tp, r, s>>
!tile = tensor<2x4x16xbf16, #tpsp.idx<b, t@tp, d, local>>
!prefix = tensor<1x3x5xbf16, #tpsp.idx<b, t@tp, d, local>>
!scores = tensor<2x8x4xf32, #tpsp.idx<b, s@tp, t, local>>

// CHECK-LABEL: @parts_of_attention
func.func @parts_of_attention(%x: !wide, %q: !q, %k: !k, %o: !q, %s: !stat, %t: !tile, %z: !scores) {
  // CHECK: tpsp.max %{{.*}}, %{{.*}} : tensor<2x8x16xf32
  %0 = tpsp.max %x, %x : !wide
  // CHECK: tpsp.accumulate %{{.*}} : tensor<2x8x16xf32, {{.*}}> -> tensor<2x8x16xbf16
  %sum = tpsp.accumulate %x : !wide -> !narrow
  // CHECK: tpsp.convert %{{.*}} : tensor<2x8x16xf32, {{.*}}> -> tensor<2x8x16xbf16
  %1 = tpsp.convert %x : !wide -> !narrow
  // CHECK: %{{.*}}, %statistic = tpsp.attention %{{.*}}, %{{.*}}, %{{.*}} {causal, feature = "k", key = "t", query = "s"} : {{.*}} -> (tensor<2x8x4x2x16xf32, #tpsp.idx<b, s, h@tp, r, k>>, tensor<2x4x2x8xf32, #tpsp.idx<b, h@tp, r, s>>)
  %2, %l = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", causal} : (!q, !k, !k) -> (!q, !stat)
  // CHECK: %gq, %gk, %gv = tpsp.attention_gradient %{{.*}} {dropout = 1.000000e-01 : f64, feature = "k", key = "t", query = "s", seed = 3 : i64} : (tensor
  %3:3 = tpsp.attention_gradient %q, %k, %k, %o, %s, %o {query = "s", key = "t", feature = "k", dropout = 0.1, seed = 3} : (!q, !k, !k, !q, !stat, !q) -> (!q, !k, !k)
  // A note of a pass on one result of several.
  // CHECK: tpsp.attention_gradient {{.*}}tpsp.results = [{}, {tpsp.name = "g[k]"}, {}]
  %6:3 = tpsp.attention_gradient %q, %k, %k, %o, %s, %o {query = "s", key = "t", feature = "k", tpsp.results = [{}, {tpsp.name = "g[k]"}, {}]} : (!q, !k, !k, !q, !stat, !q) -> (!q, !k, !k)
  // CHECK: tpsp.rotate %{{.*}} ["tp"] by 3 : tensor<2x4x16xbf16
  %4 = tpsp.rotate %t ["tp"] by 3 : !tile
  // CHECK: tpsp.send %{{.*}} {from = 0 : i64, tensor = "t", to = 1 : i64, transfer = 2 : i64} : tensor<2x4x16xbf16
  tpsp.send %t {from = 0, to = 1, transfer = 2, tensor = "t"} : !tile
  // CHECK: tpsp.receive %{{.*}} {from = 0 : i64, to = 1 : i64, transfer = 2 : i64} : tensor<2x4x16xbf16
  %received = tpsp.receive %t {from = 0, to = 1, transfer = 2} : !tile
  // CHECK: tpsp.prefix %{{.*}} : tensor<2x4x16xbf16, {{.*}}> -> tensor<1x3x5xbf16
  %prefix = tpsp.prefix %t : !tile -> !prefix
  // CHECK: tpsp.mirror %{{.*}} ["tp"] : tensor<2x4x16xbf16
  %7 = tpsp.mirror %t ["tp"] : !tile
  // CHECK: tpsp.causal_mask %{{.*}} {fill = -1.000000e+30 : f64, key = "t", query = "s", tile = #tpsp.tile<index = "t", extent = 8, shift = 1, offset = 4, axes = ["tp"]>}
  %5 = tpsp.causal_mask %z {query = "s", key = "t", fill = -1.0e30, tile = #tpsp.tile<index = "t", extent = 8, shift = 1, offset = 4, axes = ["tp"]>} : !scores
  return
}

// CHECK-LABEL: func.func @random_bits(
// CHECK:         tpsp.random_bits %{{.*}}, %{{.*}} seed 3
func.func @random_bits(%block: i64, %word: i64) -> i32 {
  %bits = tpsp.random_bits %block, %word seed 3
  return %bits : i32
}
