// Attention with its rows' statistic as a second result, in all forms, and in
// micro-batches. Only the first result has gradients.
// REQUIRES: tpsp-run

// RUN: tpsp-run %s --verify --quiet
// RUN: tpsp-run %s --verify --quiet --attention blocks --attention-block 3
// RUN: tpsp-run %s --verify --quiet --attention fused
// RUN: tpsp-run %s --verify --quiet --attention fused --micro-batches 2
// RUN: tpsp-run %s --verify --quiet --mesh cp=1,tp=2 --attention fused
// RUN: tpsp-run %s --verify --quiet --mesh cp=4,tp=1 --attention blocks --micro-batches 2
// RUN: not tpsp-run %s --grad 2>&1 | FileCheck %s
// CHECK: attention-statistic.mlir:[[#@LINE+9]]:12: error: 'tpsp.attention' op has no gradient through its result #1; keep it off the path

tpsp.mesh @mesh <cp = 2 : data, tp = 2 : model>
!q = tensor<4x8x2x3x5xf32, #tpsp.idx<b, s@cp, h@tp, r, k>>
!k = tensor<4x8x2x5xf32, #tpsp.idx<b, t@cp, h@tp, k>>
!v = tensor<4x8x2x7xf32, #tpsp.idx<b, t@cp, h@tp, f>>
!o = tensor<4x8x2x3x7xf32, #tpsp.idx<b, s@cp, h@tp, r, f>>
!l = tensor<4x2x3x8xf32, #tpsp.idx<b, h@tp, r, s@cp>>
func.func @attention(%q: !q {tpsp.name = "q"}, %k: !k {tpsp.name = "k"}, %v: !v {tpsp.name = "v"}) -> (!o, !l) {
  %o, %l = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.5} : (!q, !k, !v) -> (!o, !l)
  return %o, %l : !o, !l
}
