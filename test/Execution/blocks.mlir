// Blocks are copied where they belong, at every place of the block index,
// forward and backward.
// REQUIRES: tpsp-run

// RUN: tpsp-run %s --grad --verify --quiet
// RUN: tpsp-run %s --grad --verify --quiet --mesh dp=1,tp=1
// RUN: tpsp-run %s --grad --verify --quiet --mesh dp=4,tp=2
// RUN: tpsp-run %s --grad --verify --quiet --dtype bf16

tpsp.mesh @mesh <dp = 2, tp = 2>

!x = tensor<4x3x6x5xf32, #tpsp.idx<b@dp, n, s@tp, d>>
!y = tensor<4x6x5xf32, #tpsp.idx<b@dp, s@tp, d>>
!first = tensor<3x4x6x5xf32, #tpsp.idx<n, b@dp, s@tp, d>>
!last = tensor<4x6x5x2xf32, #tpsp.idx<b@dp, s@tp, d, n>>
!u = tensor<8xf32, #tpsp.idx<d@dp@tp>>
!v = tensor<8x2xf32, #tpsp.idx<d@dp@tp, n>>

func.func @f(%x: !x, %u: !u, %w: !u) -> (!first, !last, !v, !u) {
  %a = tpsp.take %x {index = "n", at = 0} : !x -> !y
  %b = tpsp.take %x {index = "n", at = 1} : !x -> !y
  %c = tpsp.take %x {index = "n", at = 2} : !x -> !y
  %p = tpsp.mul %a, %c : !y
  %first = tpsp.stack %c, %p, %b {index = "n"} : !y -> !first
  %last = tpsp.stack %p, %a {index = "n"} : !y -> !last
  %v = tpsp.stack %u, %w {index = "n"} : !u -> !v
  %e = tpsp.exp %v : !v
  %t = tpsp.take %e {index = "n", at = 1} : !v -> !u
  return %first, %last, %v, %t : !first, !last, !v, !u
}
