// FSDP of eight layers of six matrices: 8 gathers forward, 8 backward and 8
// reduce-scatters, instead of 48 of each without buckets. The bytes are the
// same.
// DEFINE: %{options} = bucket-layers=on
// DEFINE: %{pipeline} = tpsp-opt %s --tpsp-collective-pipeline="grad=true %{options}"
// RUN: %{pipeline} | FileCheck %s --implicit-check-not=all_gather --implicit-check-not=reduce_scatter --implicit-check-not=all_reduce
// REDEFINE: %{options} = bucket-layers=off
// RUN: %{pipeline} | FileCheck %s --check-prefix=OFF

// CHECK-LABEL: func.func @model(
// CHECK-COUNT-8: all_gather {{.*}}tensor = "l[[#]].wq, l[[#]].wk, l[[#]].wv, l[[#]].wo, l[[#]].w1, l[[#]].w2"}
// CHECK-LABEL: func.func @model_grad(
// CHECK-COUNT-8: all_gather {{.*}}tensor = "l[[#]].wq, l[[#]].wk, l[[#]].wv, l[[#]].wo, l[[#]].w1, l[[#]].w2"}
// CHECK: all_gather {{.*}}tensor = "l7.w2, {{[^"]*}}", tpsp.origin = #tpsp.origin<backward>}
// CHECK: reduce_scatter {{.*}}tensor = "g[l7.w2], {{[^"]*}}", tpsp.origin = #tpsp.origin<backward>}
// CHECK: all_gather {{.*}}tensor = "l6.w2, {{[^"]*}}", tpsp.origin = #tpsp.origin<backward>}
// CHECK: reduce_scatter {{.*}}tensor = "g[l6.w2], {{[^"]*}}", tpsp.origin = #tpsp.origin<backward>}
// CHECK: all_gather {{.*}}tensor = "l5.w2, {{[^"]*}}", tpsp.origin = #tpsp.origin<backward>}
// CHECK: reduce_scatter {{.*}}tensor = "g[l5.w2], {{[^"]*}}", tpsp.origin = #tpsp.origin<backward>}
// CHECK: all_gather {{.*}}tensor = "l4.w2, {{[^"]*}}", tpsp.origin = #tpsp.origin<backward>}
// CHECK: reduce_scatter {{.*}}tensor = "g[l4.w2], {{[^"]*}}", tpsp.origin = #tpsp.origin<backward>}
// CHECK: all_gather {{.*}}tensor = "l3.w2, {{[^"]*}}", tpsp.origin = #tpsp.origin<backward>}
// CHECK: reduce_scatter {{.*}}tensor = "g[l3.w2], {{[^"]*}}", tpsp.origin = #tpsp.origin<backward>}
// CHECK: all_gather {{.*}}tensor = "l2.w2, {{[^"]*}}", tpsp.origin = #tpsp.origin<backward>}
// CHECK: reduce_scatter {{.*}}tensor = "g[l2.w2], {{[^"]*}}", tpsp.origin = #tpsp.origin<backward>}
// CHECK: all_gather {{.*}}tensor = "l1.w2, {{[^"]*}}", tpsp.origin = #tpsp.origin<backward>}
// CHECK: reduce_scatter {{.*}}tensor = "g[l1.w2], {{[^"]*}}", tpsp.origin = #tpsp.origin<backward>}
// CHECK: all_gather {{.*}}tensor = "l0.w2, {{[^"]*}}", tpsp.origin = #tpsp.origin<backward>}
// CHECK: reduce_scatter {{.*}}tensor = "g[l0.w2], {{[^"]*}}", tpsp.origin = #tpsp.origin<backward>}

// OFF-LABEL: func.func @model(
// OFF-COUNT-48: all_gather
// OFF-LABEL: func.func @model_grad(
// OFF-COUNT-96: all_gather

// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --bucket-layers off --simulate --hardware h100-sxm | FileCheck %s --check-prefix=APART
// RUN: tpsp-run %s --grad --bucket-layers on --verify | FileCheck %s --check-prefix=ON
// APART: forward   all_gather      x48      576.0 KiB
// APART: backward  all_gather      x48      576.0 KiB
// APART: backward  reduce_scatter  x48      576.0 KiB
// ON: forward   all_gather      x8       576.0 KiB
// ON: backward  all_gather      x8       576.0 KiB
// ON: backward  reduce_scatter  x8       576.0 KiB
// ON: all within tolerance
// With the schedule for which the requirements of YaFSDP are proved.
// RUN: tpsp-run %s --grad --bucket-layers on --verify --quiet --overlap on

tpsp.mesh @mesh <fsdp = 4 : data>

!x = tensor<8x6x64xf32, #tpsp.idx<b@fsdp, s, d>>
!h = tensor<8x6x48xf32, #tpsp.idx<b, s, e, ?>>
!f = tensor<8x6x96xf32, #tpsp.idx<b, s, f, ?>>
!y = tensor<8x6x64xf32, #tpsp.idx<b, s, d, ?>>
!in = tensor<48x64xf32, #tpsp.idx<e@fsdp, d>>
!out = tensor<64x48xf32, #tpsp.idx<d@fsdp, e>>
!up = tensor<96x64xf32, #tpsp.idx<f@fsdp, d>>
!down = tensor<64x96xf32, #tpsp.idx<d@fsdp, f>>

func.func private @layer(%x: !x, %wq: !in, %wk: !in, %wv: !in, %wo: !out,
                         %w1: !up, %w2: !down) -> !x {
  %q = tpsp.einsum %x, %wq : (!x, !in) -> !h
  %k = tpsp.einsum %x, %wk : (!x, !in) -> !h
  %v = tpsp.einsum %x, %wv : (!x, !in) -> !h
  %t = tpsp.mul %q, %k : (!h, !h) -> !h
  %s = tpsp.tanh %t : !h
  %p = tpsp.mul %s, %v : (!h, !h) -> !h
  %a = tpsp.einsum %p, %wo : (!h, !out) -> !y
  %y = tpsp.add %x, %a : (!x, !y) -> !x
  %u = tpsp.einsum %y, %w1 : (!x, !up) -> !f
  %g = tpsp.gelu %u : !f
  %d = tpsp.einsum %g, %w2 : (!f, !down) -> !y
  %z = tpsp.add %y, %d : (!x, !y) -> !x
  return %z : !x
}

func.func @model(%x: !x,
                 %l0wq: !in {tpsp.param = "l0.wq"},
                 %l0wk: !in {tpsp.param = "l0.wk"},
                 %l0wv: !in {tpsp.param = "l0.wv"},
                 %l0wo: !out {tpsp.param = "l0.wo"},
                 %l0w1: !up {tpsp.param = "l0.w1"},
                 %l0w2: !down {tpsp.param = "l0.w2"},
                 %l1wq: !in {tpsp.param = "l1.wq"},
                 %l1wk: !in {tpsp.param = "l1.wk"},
                 %l1wv: !in {tpsp.param = "l1.wv"},
                 %l1wo: !out {tpsp.param = "l1.wo"},
                 %l1w1: !up {tpsp.param = "l1.w1"},
                 %l1w2: !down {tpsp.param = "l1.w2"},
                 %l2wq: !in {tpsp.param = "l2.wq"},
                 %l2wk: !in {tpsp.param = "l2.wk"},
                 %l2wv: !in {tpsp.param = "l2.wv"},
                 %l2wo: !out {tpsp.param = "l2.wo"},
                 %l2w1: !up {tpsp.param = "l2.w1"},
                 %l2w2: !down {tpsp.param = "l2.w2"},
                 %l3wq: !in {tpsp.param = "l3.wq"},
                 %l3wk: !in {tpsp.param = "l3.wk"},
                 %l3wv: !in {tpsp.param = "l3.wv"},
                 %l3wo: !out {tpsp.param = "l3.wo"},
                 %l3w1: !up {tpsp.param = "l3.w1"},
                 %l3w2: !down {tpsp.param = "l3.w2"},
                 %l4wq: !in {tpsp.param = "l4.wq"},
                 %l4wk: !in {tpsp.param = "l4.wk"},
                 %l4wv: !in {tpsp.param = "l4.wv"},
                 %l4wo: !out {tpsp.param = "l4.wo"},
                 %l4w1: !up {tpsp.param = "l4.w1"},
                 %l4w2: !down {tpsp.param = "l4.w2"},
                 %l5wq: !in {tpsp.param = "l5.wq"},
                 %l5wk: !in {tpsp.param = "l5.wk"},
                 %l5wv: !in {tpsp.param = "l5.wv"},
                 %l5wo: !out {tpsp.param = "l5.wo"},
                 %l5w1: !up {tpsp.param = "l5.w1"},
                 %l5w2: !down {tpsp.param = "l5.w2"},
                 %l6wq: !in {tpsp.param = "l6.wq"},
                 %l6wk: !in {tpsp.param = "l6.wk"},
                 %l6wv: !in {tpsp.param = "l6.wv"},
                 %l6wo: !out {tpsp.param = "l6.wo"},
                 %l6w1: !up {tpsp.param = "l6.w1"},
                 %l6w2: !down {tpsp.param = "l6.w2"},
                 %l7wq: !in {tpsp.param = "l7.wq"},
                 %l7wk: !in {tpsp.param = "l7.wk"},
                 %l7wv: !in {tpsp.param = "l7.wv"},
                 %l7wo: !out {tpsp.param = "l7.wo"},
                 %l7w1: !up {tpsp.param = "l7.w1"},
                 %l7w2: !down {tpsp.param = "l7.w2"}) -> !x {
  %x0 = func.call @layer(%x, %l0wq, %l0wk, %l0wv, %l0wo, %l0w1, %l0w2)
    : (!x, !in, !in, !in, !out, !up, !down) -> !x
  %x1 = func.call @layer(%x0, %l1wq, %l1wk, %l1wv, %l1wo, %l1w1, %l1w2)
    : (!x, !in, !in, !in, !out, !up, !down) -> !x
  %x2 = func.call @layer(%x1, %l2wq, %l2wk, %l2wv, %l2wo, %l2w1, %l2w2)
    : (!x, !in, !in, !in, !out, !up, !down) -> !x
  %x3 = func.call @layer(%x2, %l3wq, %l3wk, %l3wv, %l3wo, %l3w1, %l3w2)
    : (!x, !in, !in, !in, !out, !up, !down) -> !x
  %x4 = func.call @layer(%x3, %l4wq, %l4wk, %l4wv, %l4wo, %l4w1, %l4w2)
    : (!x, !in, !in, !in, !out, !up, !down) -> !x
  %x5 = func.call @layer(%x4, %l5wq, %l5wk, %l5wv, %l5wo, %l5w1, %l5w2)
    : (!x, !in, !in, !in, !out, !up, !down) -> !x
  %x6 = func.call @layer(%x5, %l6wq, %l6wk, %l6wv, %l6wo, %l6w1, %l6w2)
    : (!x, !in, !in, !in, !out, !up, !down) -> !x
  %x7 = func.call @layer(%x6, %l7wq, %l7wk, %l7wv, %l7wo, %l7w1, %l7w2)
    : (!x, !in, !in, !in, !out, !up, !down) -> !x
  return %x7 : !x
}
