// The beginning of a rank's part: rotary embeddings and causal masks use global
// positions, even if one or two axes shard the sequence.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --function rope --grad --verify --quiet
// RUN: tpsp-run %s --function rope --mesh cp=4,tp=1 --grad --verify --quiet
// RUN: tpsp-run %s --function rope --mesh cp=1,tp=4 --grad --verify --quiet
// RUN: tpsp-run %s --function rope_two_axes --grad --verify --quiet
// RUN: tpsp-run %s --function rope_two_axes --mesh cp=4,tp=3 --grad --verify --quiet
// RUN: tpsp-run %s --function causal --grad --verify | FileCheck %s
// RUN: tpsp-run %s --function causal --mesh cp=4,tp=2 --grad --verify --quiet
// RUN: tpsp-run %s --function causal --mesh cp=12,tp=1 --grad --verify --quiet
// RUN: tpsp-run %s --function causal --mesh cp=3,tp=2 --dtype bf16 --grad --verify --quiet

tpsp.mesh @mesh <cp = 2 : data, tp = 2 : model>

!r = tensor<12x4x6xf32, #tpsp.idx<s@cp, h@tp, k>>
func.func @rope(%x: !r) -> !r {
  %y = tpsp.rope %x {position = "s", feature = "k"} : !r
  return %y : !r
}

!r2 = tensor<24x4xf32, #tpsp.idx<s@cp@tp, k>>
func.func @rope_two_axes(%x: !r2) -> !r2 {
  %y = tpsp.rope %x {position = "s", feature = "k", theta = 50.0} : !r2
  return %y : !r2
}

// Queries stay sharded along the sequence, keys and values are gathered.
// CHECK: forward all_gather cp t
// CHECK: forward all_gather cp t
// CHECK-NOT: forward
// CHECK: backward reduce_scatter cp t
// CHECK: all within tolerance
!q = tensor<2x12x4x6xf32, #tpsp.idx<b, s@cp, h@tp, k>>
!p = tensor<2x12x4x6xf32, #tpsp.idx<b, t@cp, h@tp, k>>
func.func @causal(%q: !q, %k: !q, %v: !q) -> !q {
  %qr = tpsp.rope %q {position = "s", feature = "k"} : !q
  %kr = tpsp.rope %k {position = "s", feature = "k"} : !q
  %kt = tpsp.rename %kr : !q -> !p
  %vt = tpsp.rename %v : !q -> !p
  %o = tpsp.attention %qr, %kt, %vt {query = "s", key = "t", feature = "k",
         scale = 0.4, causal} : (!q, !p, !p) -> !q
  return %o : !q
}
