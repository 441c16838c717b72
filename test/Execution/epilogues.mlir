// An MLP with biases, whose biases, GELU and gradients are matmuls' epilogues,
// and the same without: equal to the unsharded program either way, however it
// is sharded, cut and stored. 12 and 40 are multiples of no power of two above
// 8; s is odd.
// REQUIRES: tpsp-run

// RUN: tpsp-run %s --epilogues on --grad --verify | FileCheck %s --check-prefixes=ON,VERIFIED
// ON: Epilogues of matmuls
// ON-NEXT: bias {{ *}}z
// ON-NEXT: bias,keep,gelu {{ *}}y
// ON-NEXT: slope
// ON-NEXT: sum_a
// RUN: tpsp-run %s --grad --verify --epilogues off | FileCheck %s --check-prefixes=OFF,VERIFIED
// OFF-NOT: Epilogues
// VERIFIED: all within tolerance

// RUN: tpsp-run %s --epilogues on --grad --verify --quiet --dtype bf16
// RUN: tpsp-run %s --epilogues on --grad --verify --quiet --mesh dp=2
// RUN: tpsp-run %s --epilogues on --grad --verify --quiet --mesh tp=2
// RUN: tpsp-run %s --epilogues on --grad --verify --quiet --mesh tp=2 --dtype bf16
// RUN: tpsp-run %s --epilogues on --grad --verify --quiet --mesh dp=2,tp=2
// RUN: tpsp-run %s --grad --verify --quiet --mesh dp=2,tp=2 --epilogues off
// RUN: tpsp-run %s --epilogues on --grad --verify --quiet --mesh dp=3
// RUN: tpsp-run %s --epilogues on --grad --verify --quiet --micro-batches 2
// RUN: tpsp-run %s --epilogues on --grad --verify --quiet --mesh dp=3 --micro-batches 2 --dtype bf16

// Sums of operands of products that are cut, by rows and by columns.
// RUN: tpsp-run %s --epilogues on --grad --verify --quiet --mesh dp=2 --overlap on --overlap-chunks 2 --bucket-mib 0
// RUN: tpsp-run %s --epilogues on --grad --verify --quiet --mesh tp=2 --overlap on --overlap-chunks 4
// RUN: tpsp-run %s --epilogues on --grad --verify --quiet --mesh dp=2,tp=2 --overlap on --overlap-chunks 2 --threads 1

tpsp.mesh @mesh <dp = 1 : data, tp = 1 : model>

!x  = tensor<6x7x12xf32, #tpsp.idx<b@dp, s, d>>
!y  = tensor<6x7x40xf32, #tpsp.idx<b, s, e, ?>>
!w0 = tensor<40x12xf32, #tpsp.idx<e@tp, d>>
!b0 = tensor<40xf32, #tpsp.idx<e@tp>>
!w1 = tensor<12x40xf32, #tpsp.idx<d, e@tp>>
!b1 = tensor<12xf32, #tpsp.idx<d>>

func.func @mlp(%x: !x, %w0: !w0 {tpsp.param}, %b0: !b0 {tpsp.param},
               %w1: !w1 {tpsp.param}, %b1: !b1 {tpsp.param}) -> !x {
  %y = tpsp.einsum %w0, %x : (!w0, !x) -> !y
  %h = tpsp.add %y, %b0 : (!y, !b0) -> !y
  %v = tpsp.gelu %h : !y
  %z = tpsp.einsum %w1, %v : (!w1, !y) -> !x
  %r = tpsp.add %z, %b1 : (!x, !b1) -> !x
  return %r : !x
}
