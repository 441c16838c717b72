// RUN: tpsp-opt %s --split-input-file --tpsp-balance-attention=balance-attention=on | FileCheck %s --implicit-check-not=tpsp.mirror
// RUN: tpsp-opt %s --split-input-file --tpsp-balance-attention=balance-attention=on --remarks-filter='tpsp-balance.*' --remark-policy=all 2>&1 | FileCheck %s --check-prefix=REMARK

tpsp.mesh @mesh <dp = 2, cp = 4>
!q = tensor<2x6x4x8xf32, #tpsp.idx<b@dp, s@cp, h, k, local>>
!k = tensor<2x24x4x8xf32, #tpsp.idx<b@dp, t, h, k, local>>
!l = tensor<2x4x6xf32, #tpsp.idx<b@dp, h, s@cp, local>>

// Halves of q are exchanged, the first half stays. The statistic, which the
// gradient alone reads, is never whole; q and o are exchanged again there.
// CHECK-LABEL: func.func @both_passes
func.func @both_passes(%q: !q, %k: !k, %v: !k, %g: !q) -> (!q, !q, !k, !k) {
  // CHECK: %[[OWN:.*]] = tpsp.rename %{{.*}} -> tensor<2x3x4x8xf32, #tpsp.idx<b@dp, s, h, k, local>>
  // CHECK: %[[SENT:.*]] = tpsp.rename
  // CHECK: %[[OTHER:.*]] = tpsp.mirror %[[SENT]] ["cp"] {ledger = #plan.ledger<kind = "permute", axes = ["cp"], index = "s", phase = "forward", bytes = 768, group = 4, tensor = "arg0", reason = "the mask leaves the last ranks of @cp most: halves of s change places">} : tensor<2x3x4x8xf32
  // CHECK: %[[O0:.*]], %[[L0:.*]] = tpsp.attention %[[OWN]], %arg1, %arg2 {{.*}}tile = #tpsp.tile<index = "s", extent = 6, shift = 0, offset = 0, axes = ["cp"]>}
  // CHECK: %[[O1:.*]], %[[L1:.*]] = tpsp.attention %[[OTHER]], %arg1, %arg2 {{.*}}tile = #tpsp.tile<index = "s", extent = -6, shift = 0, offset = 21, axes = ["cp"]>}
  // CHECK: tpsp.mirror %[[O1]]
  // CHECK: %[[O:.*]] = tpsp.merge
  %o, %l = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal} : (!q, !k, !k) -> (!q, !l)
  // CHECK: tpsp.mirror {{.*}}phase = "backward", {{.*}}tensor = "arg0"
  // CHECK: tpsp.mirror {{.*}}phase = "backward"
  // CHECK: tpsp.mirror {{.*}}phase = "backward", {{.*}}tensor = "arg3"
  // CHECK: %[[GQ0:.*]], %[[GK0:.*]], %[[GV0:.*]] = tpsp.attention_gradient {{.*}}%[[L0]], {{.*}}extent = 6,
  // CHECK: %[[GQ1:.*]], %[[GK1:.*]], %[[GV1:.*]] = tpsp.attention_gradient {{.*}}%[[L1]], {{.*}}extent = -6,
  // CHECK: tpsp.mirror %[[GQ1]]
  // CHECK: tpsp.add %[[GK0]], %[[GK1]] {tpsp.origin = #tpsp.origin<backward>}
  // CHECK: tpsp.add %[[GV0]], %[[GV1]] {tpsp.origin = #tpsp.origin<backward>}
  %gq, %gk, %gv = tpsp.attention_gradient %q, %k, %v, %o, %l, %g {query = "s", key = "t", feature = "k", causal, tpsp.origin = #tpsp.origin<backward>} : (!q, !k, !k, !q, !l, !q) -> (!q, !k, !k)
  return %o, %gq, %gk, %gv : !q, !q, !k, !k
}
// REMARK: remark: {{.*}}4 ranks exchange halves of their rows: {{.*}} scores and not
// REMARK: remark: {{.*}}4 ranks exchange halves of their rows: {{.*}} scores and not

// -----

tpsp.mesh @mesh <cp = 2, cq = 3>
!q = tensor<4x8xf32, #tpsp.idx<s@cp@cq, k, local>>
!k = tensor<24x8xf32, #tpsp.idx<t, k, local>>
!l = tensor<4xf32, #tpsp.idx<s@cp@cq, local>>
// Several axes are one group. The backward pass redoes attention in
// halves.
// CHECK-LABEL: func.func @redone
// CHECK-COUNT-2: tpsp.mirror {{.*}}["cp", "cq"]
// CHECK: tpsp.mirror {{.*}}tensor = "arg3"
// CHECK: tpsp.attention_gradient {{.*}}extent = -4, shift = 0, offset = 22
// CHECK: tpsp.mirror
func.func @redone(%q: !q, %k: !k, %v: !k, %g: !q) -> (!q, !q, !k) {
  %o, %l = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", causal, tpsp.origin = #tpsp.origin<backward>} : (!q, !k, !k) -> (!q, !l)
  %gq, %gk, %gv = tpsp.attention_gradient %q, %k, %v, %o, %l, %g {query = "s", key = "t", feature = "k", causal, tpsp.origin = #tpsp.origin<backward>} : (!q, !k, !k, !q, !l, !q) -> (!q, !k, !k)
  return %o, %gq, %gk : !q, !q, !k
}

// -----

tpsp.mesh @mesh <cp = 4, tp = 1>
!q = tensor<6x8xf32, #tpsp.idx<s@cp, k, local>>
!odd = tensor<5x8xf32, #tpsp.idx<s@cp, k, local>>
!whole = tensor<6x8xf32, #tpsp.idx<s@tp, k, local>>
!k = tensor<24x8xf32, #tpsp.idx<t, k, local>>
// Nothing to gain: no mask, rows without halves, a window that leaves the ranks
// in the middle as much as the last, one rank.
// CHECK-LABEL: func.func @as_it_is
// CHECK-COUNT-5: tpsp.attention %arg
func.func @as_it_is(%q: !q, %odd: !odd, %whole: !whole, %k: !k) -> (!q, !odd, !q, !whole, !q) {
  %0 = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k"} : (!q, !k, !k) -> !q
  // REMARK: remark: {{.*}}the last rank has most to do: 5 rows of a rank have no halves
  %1 = tpsp.attention %odd, %k, %k {query = "s", key = "t", feature = "k", causal} : (!odd, !k, !k) -> !odd
  // REMARK: remark: {{.*}}ranks keep their rows: the last one has 60.00 scores to do; after an exchange the busiest would have 60.00, and 0.00 to exchange
  %2 = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", causal, window = 10} : (!q, !k, !k) -> !q
  %3 = tpsp.attention %whole, %k, %k {query = "s", key = "t", feature = "k", causal} : (!whole, !k, !k) -> !whole
  // Done once.
  %4 = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", causal, tile = #tpsp.tile<index = "s", extent = 6, shift = 0, offset = 0, axes = ["cp"]>} : (!q, !k, !k) -> !q
  return %0, %1, %2, %3, %4 : !q, !odd, !q, !whole, !q
}

// -----

tpsp.mesh @mesh <cp = 4>
!q = tensor<6x8xf32, #tpsp.idx<s@cp, k, local>>
!k = tensor<24x8xf32, #tpsp.idx<t, k, local>>
// With a longer window the last rank has more work.
// CHECK-LABEL: func.func @long_window
// CHECK-COUNT-2: tpsp.mirror
func.func @long_window(%q: !q, %k: !k) -> !q {
  // REMARK: remark: {{.*}}4 ranks exchange halves of their rows
  %0 = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", causal, window = 20} : (!q, !k, !k) -> !q
  return %0 : !q
}

// -----

tpsp.mesh @mesh <cp = 4>
!q = tensor<6x8xf32, #tpsp.idx<s@cp, k, local>>
!k = tensor<24x8xf32, #tpsp.idx<t, k, local>>
!u = tensor<2x8xf32, #tpsp.idx<u@cp, k, local>>
// A tensor that another attention reads as keys is whole.
// CHECK-LABEL: func.func @rows_as_keys
// CHECK: tpsp.mirror
// CHECK: tpsp.mirror
// CHECK: %[[O:.*]] = tpsp.merge
// CHECK: tpsp.mirror
// CHECK: tpsp.attention %{{.*}}, %[[O]], %[[O]]
// CHECK: tpsp.attention %{{.*}}, %[[O]], %[[O]]
// CHECK: tpsp.mirror
func.func @rows_as_keys(%q: !q, %k: !k, %r: !u) -> !u {
  %o = tpsp.attention %q, %k, %k {query = "s", key = "t", feature = "k", causal} : (!q, !k, !k) -> !q
  %y = tpsp.attention %r, %o, %o {query = "u", key = "s", feature = "k", causal} : (!u, !q, !q) -> !u
  return %y : !u
}
