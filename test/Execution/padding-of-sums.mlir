// A sum and a maximum along a padded index lack it. The values after its end
// come from their other factor. RandomPrograms --seed=7310086 --count=1
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify --quiet --pad p=8
// RUN: tpsp-run %s --grad --verify --quiet --mesh tp=4 --pad p=4

tpsp.program <p = 5> {
mesh @mesh <tp = 1>
func @f(%x: [p@tp], %c: [p@tp] {tpsp.frozen}) -> ([], []) {
  %sum = reduce %x -> []
  %most = reduce %c {kind = "max"} -> []
  %y = sigmoid %x
  %ys = einsum %sum, %y -> [p, ?]
  %ym = einsum %most, %y -> [p, ?]
  %a = reduce %ys -> []
  %b = reduce %ym -> []
  return %a, %b
}
}
