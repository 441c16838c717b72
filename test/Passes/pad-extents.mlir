// The values after the end of a padded index, operation by operation. They are
// masked only if an operation needs others. Each function has a twin that needs
// no mask.
// RUN: tpsp-opt %s --tpsp-set-padding="pad=p=4,q=4" --tpsp-pad-extents --split-input-file | FileCheck %s
// RUN: tpsp-opt %s --tpsp-pad-extents --split-input-file | FileCheck %s --check-prefix=WITHOUT
// WITHOUT-NOT: tpsp.end_mask
// WITHOUT-NOT: tpsp.unpadded

!a = tensor<5x3xf32, #tpsp.idx<p, b>>
!b = tensor<3xf32, #tpsp.idx<b>>

// A sum of an argument, which is zero there, and of its sigmoid, which is not.
// CHECK: module attributes {tpsp.unpadded = {p = array<i64: 5, 8>, q = array<i64: 6, 8>}}
// CHECK-LABEL: @sum(
// CHECK-SAME: tensor<8x3xf32, #tpsp.idx<p, b>>
// CHECK-NEXT: tpsp.reduce %arg0
// CHECK-NEXT: %[[S:.*]] = tpsp.sigmoid
// CHECK-NEXT: %[[M:.*]] = tpsp.end_mask %[[S]] {end = 5 : i64, fill = 0.000000e+00 : f64, index = "p"} : tensor<8x3xf32, #tpsp.idx<p, b>>
// CHECK-NEXT: tpsp.reduce %[[M]]
// CHECK-NEXT: return
func.func @sum(%x: !a) -> (!b, !b) {
  %0 = tpsp.reduce %x : !a -> !b
  %1 = tpsp.sigmoid %x : !a
  %2 = tpsp.reduce %1 : !a -> !b
  return %0, %2 : !b, !b
}

// Zero times anything is zero, and functions of zero are numbers: gelu(0) = 0,
// log(exp(0)) = 0.
// CHECK-LABEL: @zeros
// CHECK-NOT: end_mask
// CHECK: return
func.func @zeros(%x: !a, %w: !a) -> !b {
  %0 = tpsp.sigmoid %x : !a
  %1 = tpsp.mul %0, %w : !a
  %2 = tpsp.gelu %w : !a
  %3 = tpsp.exp %x : !a
  %4 = tpsp.log %3 : !a
  %5 = tpsp.add %1, %2, %4 : !a
  %6 = tpsp.reduce %5 : !a -> !b
  return %6 : !b
}

// A sum over the index, or a maximum, does not bound the tail of its factor.
// The factor is masked, and they are not.
!n = tensor<f32, #tpsp.idx<>>
!v = tensor<5xf32, #tpsp.idx<p>>
// CHECK-LABEL: @reduced(
// CHECK-NEXT: %[[S:.*]] = tpsp.reduce %arg0
// CHECK-NEXT: %[[V:.*]] = tpsp.sigmoid %arg0
// CHECK-NEXT: %[[P:.*]] = tpsp.einsum %[[S]], %[[V]]
// CHECK-NEXT: %[[M:.*]] = tpsp.end_mask %[[P]]
// CHECK-NEXT: tpsp.reduce %[[M]]
// CHECK-NEXT: %[[L:.*]] = tpsp.end_mask %[[V]] {{.*}}fill = -3.4
// CHECK-NEXT: %[[T:.*]] = tpsp.reduce %[[L]] {kind = "max"}
// CHECK-NEXT: tpsp.einsum %[[T]], %[[V]]
// CHECK-NEXT: return
func.func @reduced(%x: !v) -> (!n, !v) {
  %0 = tpsp.reduce %x : !v -> !n
  %1 = tpsp.sigmoid %x : !v
  %2 = tpsp.einsum %0, %1 : (!n, !v) -> !v
  %3 = tpsp.reduce %2 : !v -> !n
  %4 = tpsp.reduce %1 {kind = "max"} : !v -> !n
  %5 = tpsp.einsum %4, %1 : (!n, !v) -> !v
  return %3, %5 : !n, !v
}

// One factor of a product has to be zero. If none is, the smaller one is
// masked, and only that one.
!w = tensor<5xf32, #tpsp.idx<p>>
// CHECK-LABEL: @products
// CHECK: %[[X:.*]] = tpsp.sigmoid %arg0
// CHECK-NEXT: %[[W:.*]] = tpsp.sigmoid %arg1
// CHECK-NEXT: %[[M:.*]] = tpsp.end_mask %[[W]] {{.*}} : tensor<8xf32, #tpsp.idx<p>>
// CHECK-NEXT: tpsp.einsum %[[M]], %[[X]]
// CHECK-NEXT: tpsp.einsum %arg1, %[[X]]
// CHECK-NEXT: return
func.func @products(%x: !a, %w: !w) -> (!b, !b) {
  %0 = tpsp.sigmoid %x : !a
  %1 = tpsp.sigmoid %w : !w
  %2 = tpsp.einsum %1, %0 : (!w, !a) -> !b
  %3 = tpsp.einsum %w, %0 : (!w, !a) -> !b
  return %2, %3 : !b, !b
}

// A maximum and a softmax ignore low values; a softmax is then zero there. The
// same mask serves both. A low value stays low when a number is subtracted, and
// its exponential is zero.
// CHECK-LABEL: @low
// CHECK-NEXT: %[[M:.*]] = tpsp.end_mask %arg0 {end = 5 : i64, fill = -3.4028234663852886E+38 : f64, index = "p"}
// CHECK-NEXT: tpsp.reduce %[[M]] {kind = "max"}
// CHECK-NEXT: tpsp.softmax %[[M]]
// CHECK-NEXT: tpsp.reduce
// CHECK-NEXT: return
func.func @low(%x: !a) -> (!b, !b) {
  %0 = tpsp.reduce %x {kind = "max"} : !a -> !b
  %1 = tpsp.softmax %x {over = "p"} : !a
  %2 = tpsp.reduce %1 : !a -> !b
  return %0, %2 : !b, !b
}

// CHECK-LABEL: @rows_beside
// CHECK-NOT: end_mask
// CHECK: return
func.func @rows_beside(%x: !a, %g: !b) -> (!a, !a) {
  %0 = tpsp.softmax %x {over = "b"} : !a
  %1 = tpsp.rms_norm %0, %g : (!a, !b) -> !a
  return %0, %1 : !a, !a
}

// In f16, below which there is nothing.
// CHECK-LABEL: @low_in_f16
// CHECK: fill = -6.550400e+04 : f64
func.func @low_in_f16(%x: tensor<5xf16, #tpsp.idx<p>>) -> tensor<f16, #tpsp.idx<>> {
  %0 = tpsp.reduce %x {kind = "max"} : tensor<5xf16, #tpsp.idx<p>> -> tensor<f16, #tpsp.idx<>>
  return %0 : tensor<f16, #tpsp.idx<>>
}

// If a function lacks a value or slope, the mask is 1: its logarithm is 0.
// CHECK-LABEL: @positive
// CHECK-NEXT: %[[M:.*]] = tpsp.end_mask %arg0 {end = 5 : i64, fill = 1.000000e+00 : f64, index = "p"}
// CHECK-NEXT: tpsp.log %[[M]]
// CHECK-NEXT: tpsp.sqrt %[[M]]
// CHECK-NEXT: tpsp.div %arg1, %[[M]]
// CHECK-NEXT: tpsp.reduce
// CHECK-NEXT: tpsp.reduce
// CHECK-NEXT: return
func.func @positive(%x: !a, %y: !a) -> (!b, !a, !b) {
  %0 = tpsp.log %x : !a
  %1 = tpsp.sqrt %x : !a
  %2 = tpsp.div %y, %x : !a
  %3 = tpsp.reduce %0 : !a -> !b
  %4 = tpsp.reduce %2 : !a -> !b
  return %3, %1, %4 : !b, !a, !b
}

// Means and norms along the index are divided by its own extent, 5.
// CHECK-LABEL: @means
// CHECK-NOT: tpsp.mean
// CHECK: tpsp.scale {{.*}}factor = 2.000000e-01
// CHECK-NOT: tpsp.rms_norm
// CHECK: tpsp.scale {{.*}}factor = 2.000000e-01
func.func @means(%x: !a, %g: !w) -> (!b, !a) {
  %0 = tpsp.mean %x : !a -> !b
  %1 = tpsp.rms_norm %x, %g : (!a, !w) -> !a
  return %0, %1 : !b, !a
}

// Positions after the end are last, except for operations that look ahead.
// CHECK-LABEL: @ahead
// CHECK-NEXT: %[[E:.*]] = tpsp.exp
// CHECK-NEXT: tpsp.cumsum %[[E]] {index = "p"}
// CHECK-NEXT: tpsp.delay %[[E]]
// CHECK-NEXT: %[[M:.*]] = tpsp.end_mask %[[E]]
// CHECK-NEXT: tpsp.cumsum %[[M]] {index = "p", reverse}
// CHECK-NEXT: tpsp.delay %[[M]] {by = -1 : i64
func.func @ahead(%x: !a) -> (!a, !a, !a, !a) {
  %0 = tpsp.exp %x : !a
  %1 = tpsp.cumsum %0 {index = "p"} : !a
  %2 = tpsp.delay %0 {index = "p", by = 2} : !a
  %3 = tpsp.cumsum %0 {index = "p", reverse} : !a
  %4 = tpsp.delay %0 {index = "p", by = -1} : !a
  return %1, %2, %3, %4 : !a, !a, !a, !a
}

// A causal query sees no key after the end. Other attention is decomposed, and
// its scores are masked.
!q = tensor<5x2x4xf32, #tpsp.idx<p, h, k>>
!k = tensor<6x2x4xf32, #tpsp.idx<q, h, k>>
// CHECK-LABEL: @attention
// CHECK-NEXT: tpsp.attention
// CHECK-NEXT: tpsp.einsum
// CHECK-NEXT: tpsp.end_mask {{.*}} {end = 6 : i64, fill = -3.4028234663852886E+38 : f64, index = "q", tpsp.recompute}
// CHECK-NEXT: tpsp.softmax
// CHECK-NEXT: tpsp.einsum
func.func @attention(%q: !q, %k: !k) -> (!q, !q) {
  %0 = tpsp.attention %q, %k, %k {query = "p", key = "q", feature = "k", causal} : (!q, !k, !k) -> !q
  %1 = tpsp.attention %q, %k, %k {query = "p", key = "q", feature = "k"} : (!q, !k, !k) -> !q
  return %0, %1 : !q, !q
}

// A padded table is looked up below its end, as is any selection by bounded
// integers. Other integers may select positions of zeros only.
!ids = tensor<3xi32, #tpsp.idx<b>>
// CHECK-LABEL: @lookups
// CHECK-SAME: %arg0: tensor<3xi32, #tpsp.idx<b>> {tpsp.below = 5 : i64}
// CHECK-NEXT: %[[E:.*]] = tpsp.exp
// CHECK-NEXT: tpsp.one_hot_einsum %arg0, %[[E]]
// CHECK-NEXT: %[[M:.*]] = tpsp.end_mask %[[E]]
// CHECK-NEXT: tpsp.one_hot_einsum %arg1, %[[M]]
func.func @lookups(%ids: !ids, %more: !ids {tpsp.below = 6}, %x: !a) -> (!b, !b) {
  %0 = tpsp.exp %x : !a
  %1 = tpsp.one_hot_einsum %ids, %0 {indices = ["p"]} : (!ids, !a) -> !b
  %2 = tpsp.one_hot_einsum %more, %0 {indices = ["p"]} : (!ids, !a) -> !b
  return %1, %2 : !b, !b
}

// Cross-entropy: a maximum, and a sum of exponentials.
// CHECK-LABEL: @loss
// CHECK: end_mask {{.*}}fill = -3.4
// CHECK-NEXT: tpsp.reduce {{.*}}"max"
// CHECK: tpsp.exp
// CHECK-NEXT: tpsp.end_mask {{.*}}fill = 0.0
// CHECK-NEXT: tpsp.reduce
// CHECK-NOT: end_mask
// CHECK: return
func.func @loss(%x: !a, %targets: !ids) -> !b {
  %0 = tpsp.cross_entropy %x, %targets {over = "p"} : (!a, !ids) -> !b
  return %0 : !b
}

// Values from before the end need no mask.
!c = tensor<2x3xf32, #tpsp.idx<c, b>>
// CHECK-LABEL: @blocks
// CHECK-NOT: end_mask
// CHECK: tpsp.pad {{.*}} -> tensor<8x3xf32, #tpsp.idx<p, b>>
// CHECK-NEXT: tpsp.reduce
// CHECK-NEXT: return
func.func @blocks(%x: !a) -> (!b, !c, !b) {
  %0 = tpsp.exp %x : !a
  %1 = tpsp.take %0 {index = "p", at = 4} : !a -> !b
  %2 = tpsp.cut %0 {index = "p", from = 3} : !a -> !c
  %3 = tpsp.pad %2 {index = "p", before = 1} : !c -> !a
  %4 = tpsp.reduce %3 : !a -> !b
  return %1, %2, %4 : !b, !c, !b
}

// -----

// Two indices: each is masked, and the values after both ends are zero.
!a = tensor<5x6x3xf32, #tpsp.idx<p, q, b>>
!b = tensor<3xf32, #tpsp.idx<b>>
// CHECK-LABEL: @two
// CHECK: %[[S:.*]] = tpsp.sigmoid
// CHECK-NEXT: %[[P:.*]] = tpsp.end_mask %[[S]] {{.*}}index = "p"
// CHECK-NEXT: %[[Q:.*]] = tpsp.end_mask %[[P]] {{.*}}index = "q"
// CHECK-NEXT: tpsp.reduce %[[Q]]
func.func @two(%x: !a) -> !b {
  %0 = tpsp.sigmoid %x : !a
  %1 = tpsp.reduce %0 : !a -> !b
  return %1 : !b
}

// -----

// Attention sees no key after its lengths, which are known to end before the
// padding. Without lengths, or if they might be longer, its scores are masked:
// keys after the end are hidden, even if all others may be, too.
!q = tensor<3x6x2xf32, #tpsp.idx<b, q, k>>
!k = tensor<3x5x2xf32, #tpsp.idx<b, p, k>>
!n = tensor<3xi32, #tpsp.idx<b>>
// CHECK-LABEL: @lengths
// CHECK-SAME: %arg3: tensor<3xi32, #tpsp.idx<b>> {tpsp.below = 6 : i64}
// CHECK-NOT: end_mask
// CHECK: tpsp.attention %arg0, %arg1, %arg2, %arg3 {{.*}} tensor<3x8x2xf32, #tpsp.idx<b, p, k>>
// CHECK-NOT: end_mask
// CHECK: return
func.func @lengths(%q: !q, %k: !k, %v: !k, %n: !n) -> !q {
  %0 = tpsp.attention %q, %k, %v, %n {query = "q", key = "p", feature = "k"} : (!q, !k, !k, !n) -> !q
  return %0 : !q
}

// CHECK-LABEL: @longer
// CHECK-NOT: tpsp.attention
// CHECK: tpsp.length_mask
// CHECK-NEXT: tpsp.end_mask {{.*}}end = 5 : i64, fill = 0xFFF0000000000000
// CHECK-NEXT: tpsp.softmax {{.*}}hides
func.func @longer(%q: !q, %k: !k, %v: !k, %n: !n {tpsp.below = 7}) -> !q {
  %0 = tpsp.attention %q, %k, %v, %n {query = "q", key = "p", feature = "k"} : (!q, !k, !k, !n) -> !q
  return %0 : !q
}
