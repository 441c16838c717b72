// Summands over the same axis are added first, even if the rest broadcasts them
// along an index that the axis shards.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --verify --quiet

tpsp.mesh @mesh <tp = 3>
!p = tensor<6xf32, #tpsp.idx<a | sum@tp>>
!y = tensor<6x6xf32, #tpsp.idx<a, b@tp>>
func.func @f(%p: !p, %q: !p, %y: !y) -> !y {
  %z = tpsp.add %p, %y, %q : (!p, !y, !p) -> !y
  return %z : !y
}
