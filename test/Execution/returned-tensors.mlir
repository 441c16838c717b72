// A result may be an argument, a view of one, a gradient's own source, or the
// same value as another.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --verify --quiet
// RUN: tpsp-run %s --grad --verify --quiet
// RUN: tpsp-run %s --grad --verify --quiet --steps 3
// RUN: tpsp-run %s --mesh tp=1 --grad --verify --quiet

// Cotangents are named like results, not like the returned values.
// RUN: tpsp-run %s --grad --save-all %t.st | FileCheck %s
// CHECK: gradients with g[same] random, g[view] random, g[one] random, g[other] random, g[weight] random
// RUN: head -c 4000 %t.st | FileCheck %s --check-prefix=NAMES
// NAMES: "g[one]"
// NAMES-SAME: "g[other]"
// NAMES-SAME: "one"
// NAMES-SAME: "other"

tpsp.mesh @mesh <tp = 2 : model>

!x = tensor<4x6xf32, #tpsp.idx<s@tp, d>>
!y = tensor<4x6xf32, #tpsp.idx<t@tp, d>>
!w = tensor<4x6xf32, #tpsp.idx<s, d>>
func.func @f(%x: !x, %unused: !x, %w: !w {tpsp.param}) -> (!x {tpsp.name = "same"}, !y {tpsp.name = "view"},
    !x {tpsp.name = "one"}, !x {tpsp.name = "other"}, !w {tpsp.name = "weight"}) {
  %view = tpsp.rename %x : !x -> !y
  %e = tpsp.exp %x : !x
  return %x, %view, %e, %e, %w : !x, !y, !x, !x, !w
}
