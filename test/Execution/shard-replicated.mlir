// Two layers of tensor parallelism as tensor and sequence parallelism: between
// the layers nothing is replicated, values and gradients are right, and the
// activations are smaller.
// REQUIRES: tpsp-run
// DEFINE: %{run} = tpsp-run %s --grad --verify --quiet --function net
// DEFINE: %{gpt} = tpsp-run %examples/gpt-block-tp.mlir --grad --verify --quiet

// RUN: %{run} --shard-replicated memory
// RUN: %{run} --shard-replicated memory --mesh tp=2
// RUN: %{run} --shard-replicated memory --mesh tp=4 --dtype bf16
// RUN: %{run} --shard-replicated memory --mesh tp=2,dp=2
// RUN: %{run} --shard-replicated memory --mesh tp=2,dp=2 --micro-batches 2
// RUN: %{gpt} --shard-replicated memory --mesh tp=2
// RUN: %{gpt} --shard-replicated memory --mesh tp=4 --report %t.sp.json
// RUN: %{gpt} --mesh tp=4 --report %t.tp.json
// RUN: python3 %S/Inputs/less-memory.py %t.sp.json %t.tp.json 0.8
// Like the block that is written so, but for the input's shard.
// RUN: tpsp-run %examples/gpt-block-sp.mlir --grad --quiet --mesh tp=4 --report %t.written.json
// RUN: python3 %S/Inputs/less-memory.py %t.sp.json %t.written.json 1.05

// RUN: tpsp-opt %s --tpsp-collective-pipeline="grad=true shard-replicated=memory" | FileCheck %s --implicit-check-not=tpsp.all_ --implicit-check-not=tpsp.reduce_scatter
// CHECK-LABEL: func.func @net(
// CHECK: tpsp.all_gather
// CHECK: tpsp.reduce_scatter
// CHECK: tpsp.all_gather
// CHECK: tpsp.reduce_scatter
// CHECK: tpsp.all_gather
// CHECK-LABEL: func.func @net_grad(
// CHECK: tpsp.all_gather
// CHECK: tpsp.reduce_scatter
// CHECK: tpsp.all_gather
// CHECK: tpsp.reduce_scatter
// CHECK: tpsp.all_gather
// CHECK: tpsp.all_gather {{.*}}tpsp.origin = #tpsp.origin<backward>
// CHECK: tpsp.all_gather {{.*}}tpsp.origin = #tpsp.origin<backward>
// CHECK: tpsp.reduce_scatter {{.*}}tpsp.origin = #tpsp.origin<backward>
// CHECK: tpsp.all_gather {{.*}}tpsp.origin = #tpsp.origin<backward>
// CHECK: tpsp.all_gather {{.*}}tpsp.origin = #tpsp.origin<backward>
// CHECK: tpsp.all_reduce {{.*}} ["dp"] {{.*}}tensor = "g[v1], g[w1], g[v0], g[w0]", tpsp.origin = #tpsp.origin<backward>
// CHECK: tpsp.reduce_scatter {{.*}}tpsp.origin = #tpsp.origin<backward>
// CHECK: tpsp.all_reduce {{.*}}tensor = "g[g1], g[g0]", tpsp.origin = #tpsp.origin<backward>
// CHECK: tpsp.all_gather {{.*}}tpsp.origin = #tpsp.origin<backward>


tpsp.mesh @mesh <tp = 4 : model, dp = 1 : data>

!x  = tensor<4x16x32xf32, #tpsp.idx<b@dp, s, d>>
!x_ = tensor<4x16x32xf32, #tpsp.idx<b, s, d, ?>>
!y  = tensor<4x16x64xf32, #tpsp.idx<b, s, e, ?>>
!w  = tensor<64x32xf32, #tpsp.idx<e@tp, d>>
!v  = tensor<32x64xf32, #tpsp.idx<d, e@tp>>
!g  = tensor<32xf32, #tpsp.idx<d>>

func.func private @layer(%x: !x_, %g: !g, %w: !w, %v: !v) -> !x_ {
  %n = tpsp.rms_norm %x, %g : (!x_, !g) -> !x_
  %y = tpsp.einsum %w, %n : (!w, !x_) -> !y
  %a = tpsp.gelu %y : !y
  %z = tpsp.einsum %v, %a : (!v, !y) -> !x_
  %r = tpsp.add %x, %z : !x_
  return %r : !x_
}

func.func @net(%x: !x {tpsp.name = "x"},
               %g0: !g {tpsp.param = "g0"}, %w0: !w {tpsp.param = "w0"}, %v0: !v {tpsp.param = "v0"},
               %g1: !g {tpsp.param = "g1"}, %w1: !w {tpsp.param = "w1"}, %v1: !v {tpsp.param = "v1"}) -> !x {
  %i = tpsp.scale %x {factor = 1.0 : f64} : !x -> !x_
  %r0 = func.call @layer(%i, %g0, %w0, %v0) : (!x_, !g, !w, !v) -> !x_
  %r1 = func.call @layer(%r0, %g1, %w1, %v1) : (!x_, !g, !w, !v) -> !x_
  %z = tpsp.scale %r1 {factor = 1.0 : f64} : !x_ -> !x
  return %z : !x
}
