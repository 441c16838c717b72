// jax-ml/jax#3970: the gradient of psum confuses users. Is it psum, which counts
// every rank's copy of the loss, or nothing?
//
// Here a program has one loss, whatever the mesh, and its gradient is whole. The
// sum over a sharded index is an all-reduce forward and nothing backward.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: tpsp-run %s --mesh dp=2 --grad --verify --quiet
// RUN: tpsp-run %s --mesh dp=8 --dtype bf16 --grad --verify --quiet

// CHECK: phase kind axes
// CHECK-NEXT: forward all_reduce dp 6 B l
// CHECK-EMPTY:
// CHECK: all within tolerance

tpsp.mesh @mesh <dp = 4 : data>

!x = tensor<8x12xf32, #tpsp.idx<b@dp, d>>
!l = tensor<f32, #tpsp.idx<>>
func.func @sum(%x: !x) -> !l {
  %y = tpsp.square %x : !x
  %l = tpsp.reduce %y : !x -> !l
  %k = tpsp.scale %l {factor = 0.01} : !l    // so that tanh has a slope
  %m = tpsp.tanh %k : !l
  return %m : !l
}
