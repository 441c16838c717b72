// Models that the documents do not have. The whole function sends as much as a
// good implementation by hand. It is right, with gradients, on several meshes,
// overlapped and in micro-batches.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// DEFINE: %{verify} = --grad --verify --quiet
// RUN: tpsp-opt %t/gptj.mlir --tpsp-explain=grad | FileCheck %t/gptj.mlir
// RUN: tpsp-run %t/gptj.mlir %{verify} --mesh tp=4
// RUN: tpsp-run %t/gptj.mlir %{verify} --mesh tp=2
// RUN: %if nightly %{ tpsp-run %t/gptj.mlir %{verify} --mesh tp=1 %}
// RUN: tpsp-run %t/gptj.mlir %{verify} --mesh tp=4 --overlap on
// RUN: tpsp-run %t/gptj.mlir %{verify} --mesh tp=4 --micro-batches 2
// RUN: tpsp-opt %t/lora.mlir --tpsp-explain=grad | FileCheck %t/lora.mlir
// RUN: tpsp-run %t/lora.mlir %{verify} --mesh tp=4
// RUN: tpsp-run %t/lora.mlir %{verify} --mesh tp=2
// RUN: %if nightly %{ tpsp-run %t/lora.mlir %{verify} --mesh tp=1 %}
// RUN: tpsp-run %t/lora.mlir %{verify} --mesh tp=4 --overlap on
// RUN: tpsp-run %t/lora.mlir %{verify} --mesh tp=4 --micro-batches 2
// RUN: tpsp-opt %t/kvrep.mlir --tpsp-explain=grad | FileCheck %t/kvrep.mlir
// RUN: tpsp-run %t/kvrep.mlir %{verify} --mesh kv=2,rep=2
// RUN: %if nightly %{ tpsp-run %t/kvrep.mlir %{verify} --mesh kv=1,rep=4 %}
// RUN: %if nightly %{ tpsp-run %t/kvrep.mlir %{verify} --mesh kv=2,rep=1 %}
// RUN: tpsp-run %t/kvrep.mlir %{verify} --mesh kv=2,rep=2 --overlap on
// RUN: tpsp-run %t/kvrep.mlir %{verify} --mesh kv=2,rep=2 --micro-batches 2
// RUN: tpsp-opt %t/shared.mlir --tpsp-explain=grad | FileCheck %t/shared.mlir
// RUN: tpsp-run %t/shared.mlir %{verify} --mesh tp=4
// RUN: tpsp-run %t/shared.mlir %{verify} --mesh tp=2
// RUN: %if nightly %{ tpsp-run %t/shared.mlir %{verify} --mesh tp=1 %}
// RUN: tpsp-run %t/shared.mlir %{verify} --mesh tp=4 --overlap on
// RUN: tpsp-run %t/shared.mlir %{verify} --mesh tp=4 --micro-batches 2 --micro-batch-index g
// RUN: tpsp-opt %t/ids.mlir --tpsp-explain=grad | FileCheck %t/ids.mlir
// RUN: tpsp-run %t/ids.mlir %{verify} --mesh tp=4
// RUN: tpsp-run %t/ids.mlir %{verify} --mesh tp=2
// RUN: %if nightly %{ tpsp-run %t/ids.mlir %{verify} --mesh tp=1 %}
// RUN: tpsp-run %t/ids.mlir %{verify} --mesh tp=4 --overlap on
// RUN: tpsp-run %t/ids.mlir %{verify} --mesh tp=4 --micro-batches 2
// RUN: tpsp-opt %t/table.mlir --tpsp-explain=grad | FileCheck %t/table.mlir
// RUN: tpsp-run %t/table.mlir %{verify} --mesh dp=4
// RUN: tpsp-run %t/table.mlir %{verify} --mesh dp=2
// RUN: %if nightly %{ tpsp-run %t/table.mlir %{verify} --mesh dp=1 %}
// RUN: tpsp-run %t/table.mlir %{verify} --mesh dp=4 --overlap on
// RUN: tpsp-run %t/table.mlir %{verify} --mesh dp=4 --micro-batches 2
// RUN: tpsp-opt %t/order.mlir --tpsp-explain=grad | FileCheck %t/order.mlir
// RUN: tpsp-run %t/order.mlir %{verify} --mesh fsdp=2,tp=2
// RUN: %if nightly %{ tpsp-run %t/order.mlir %{verify} --mesh fsdp=1,tp=4 %}
// RUN: %if nightly %{ tpsp-run %t/order.mlir %{verify} --mesh fsdp=4,tp=1 %}
// RUN: tpsp-run %t/order.mlir %{verify} --mesh fsdp=2,tp=2 --overlap on
// RUN: tpsp-run %t/order.mlir %{verify} --mesh fsdp=2,tp=2 --micro-batches 2
// RUN: tpsp-opt %t/heads.mlir --tpsp-explain=grad | FileCheck %t/heads.mlir
// RUN: tpsp-run %t/heads.mlir %{verify} --mesh kv=2,rep=2
// RUN: tpsp-run %t/heads.mlir %{verify} --mesh kv=2,rep=4
// RUN: tpsp-run %t/heads.mlir %{verify} --mesh kv=1,rep=2
// RUN: %if nightly %{ tpsp-run %t/heads.mlir %{verify} --mesh kv=2,rep=1 --overlap on %}
// RUN: tpsp-run %t/heads.mlir %{verify} --mesh kv=2,rep=2 --overlap on
// RUN: tpsp-run %t/heads.mlir %{verify} --mesh kv=2,rep=2 --micro-batches 2 --micro-batch-index b
// RUN: tpsp-opt %t/rotary.mlir --tpsp-explain=grad | FileCheck %t/rotary.mlir
// RUN: tpsp-run %t/rotary.mlir %{verify} --mesh tp=4
// RUN: tpsp-run %t/rotary.mlir %{verify} --mesh tp=2
// RUN: %if nightly %{ tpsp-run %t/rotary.mlir %{verify} --mesh tp=1 %}
// RUN: tpsp-opt %t/rows.mlir --tpsp-explain=grad | FileCheck %t/rows.mlir
// RUN: tpsp-run %t/rows.mlir %{verify} --mesh tp=4
// RUN: tpsp-run %t/rows.mlir %{verify} --mesh tp=2
// RUN: %if nightly %{ tpsp-run %t/rows.mlir %{verify} --mesh tp=1 %}
// RUN: tpsp-run %t/rows.mlir %{verify} --mesh tp=4 --overlap on
// RUN: tpsp-run %t/written.mlir %{verify} --function moe
// RUN: tpsp-run %t/written.mlir %{verify} --function mean
// RUN: tpsp-opt %t/t5.mlir --tpsp-explain=grad | FileCheck %t/t5.mlir
// RUN: tpsp-run %t/t5.mlir %{verify} --mesh tp=4
// RUN: tpsp-run %t/t5.mlir %{verify} --mesh tp=2
// RUN: %if nightly %{ tpsp-run %t/t5.mlir %{verify} --mesh tp=1 %}
// RUN: tpsp-run %t/t5.mlir %{verify} --overlap on
// RUN: tpsp-run %t/t5.mlir %{verify} --micro-batches 2
// RUN: tpsp-opt %t/mla.mlir --tpsp-explain=grad | FileCheck %t/mla.mlir
// RUN: tpsp-run %t/mla.mlir %{verify} --mesh tp=4
// RUN: tpsp-run %t/mla.mlir %{verify} --mesh tp=2
// RUN: %if nightly %{ tpsp-run %t/mla.mlir %{verify} --mesh tp=1 %}
// RUN: tpsp-run %t/mla.mlir %{verify} --overlap on
// RUN: tpsp-run %t/mla.mlir %{verify} --micro-batches 2

//--- gptj.mlir
// Attention and MLP in parallel on one norm, under sequence parallelism.
// CHECK:      totals
// CHECK-NEXT: forward all_gather over tp x2 18.0 KiB
// CHECK-NEXT: forward reduce_scatter over tp x2 18.0 KiB
// CHECK-NEXT: backward all_gather over tp x4 36.0 KiB
// CHECK-NEXT: backward all_reduce over tp x1 288 B
// CHECK-NEXT: backward reduce_scatter over tp x2 18.0 KiB
// CHECK-NEXT: {{.*}} of every kind
tpsp.mesh @mesh <tp = 4 : model>
!x    = tensor<2x32x48xf32, #tpsp.idx<b, s@tp, d>>
!x_   = tensor<2x32x48xf32, #tpsp.idx<b, s, d, ?>>
!head = tensor<2x32x4x12xf32, #tpsp.idx<b, s, h, k, ?>>
!past = tensor<2x32x4x12xf32, #tpsp.idx<b, t, h, k, ?>>
!mid  = tensor<2x32x96xf32, #tpsp.idx<b, s, e, ?>>
!gain = tensor<48xf32, #tpsp.idx<d>>
!wqkv = tensor<4x12x48xf32, #tpsp.idx<h@tp, k, d>>
!wo   = tensor<48x4x12xf32, #tpsp.idx<d, h@tp, k>>
!w1   = tensor<96x48xf32, #tpsp.idx<e@tp, d>>
!w2   = tensor<48x96xf32, #tpsp.idx<d, e@tp>>
func.func private @layer(%x: !x, %gain: !gain, %wq: !wqkv, %wk: !wqkv, %wv: !wqkv, %wo: !wo, %w1: !w1, %w2: !w2) -> !x {
  %n  = tpsp.rms_norm %x, %gain : (!x, !gain) -> !x_
  %q  = tpsp.einsum %wq, %n : (!wqkv, !x_) -> !head
  %k0 = tpsp.einsum %wk, %n : (!wqkv, !x_) -> !head
  %k  = tpsp.rename %k0 : !head -> !past
  %v0 = tpsp.einsum %wv, %n : (!wqkv, !x_) -> !head
  %v  = tpsp.rename %v0 : !head -> !past
  %o  = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.25, causal} : (!head, !past, !past) -> !head
  %a  = tpsp.einsum %wo, %o : (!wo, !head) -> !x_
  %u  = tpsp.einsum %w1, %n : (!w1, !x_) -> !mid
  %g  = tpsp.gelu %u : !mid
  %m  = tpsp.einsum %w2, %g : (!w2, !mid) -> !x_
  %z  = tpsp.add %x, %a, %m : (!x, !x_, !x_) -> !x
  return %z : !x
}
func.func @model(%x: !x {tpsp.name = "x"},
    %gain: !gain {tpsp.param = "gain"}, %wq: !wqkv {tpsp.param = "wq"}, %wk: !wqkv {tpsp.param = "wk"}, %wv: !wqkv {tpsp.param = "wv"}, %wo: !wo {tpsp.param = "wo"}, %w1: !w1 {tpsp.param = "w1"}, %w2: !w2 {tpsp.param = "w2"}) -> !x {
  %y = func.call @layer(%x, %gain, %wq, %wk, %wv, %wo, %w1, %w2) : (!x, !gain, !wqkv, !wqkv, !wqkv, !wo, !w1, !w2) -> !x
  %z = func.call @layer(%y, %gain, %wq, %wk, %wv, %wo, %w1, %w2) : (!x, !gain, !wqkv, !wqkv, !wqkv, !wo, !w1, !w2) -> !x
  return %z : !x
}

//--- lora.mlir
// A gated MLP with adapters on all three products, under sequence parallelism.
// CHECK:      totals
// CHECK-NEXT: forward all_gather over tp x1 9.0 KiB
// CHECK-NEXT: forward reduce_scatter over tp x1 9.0 KiB
// CHECK-NEXT: backward all_gather over tp x1 9.0 KiB
// CHECK-NEXT: backward all_reduce over tp x1 6.8 KiB
// CHECK-NEXT: backward reduce_scatter over tp x3 12.0 KiB
// CHECK-NEXT: {{.*}} of every kind
tpsp.mesh @mesh <tp = 4 : model>
!x   = tensor<2x32x48xf32, #tpsp.idx<b, s@tp, d>>
!x_  = tensor<2x32x48xf32, #tpsp.idx<b, s, d, ?>>
!mid = tensor<2x32x96xf32, #tpsp.idx<b, s, e, ?>>
!low = tensor<2x32x8xf32, #tpsp.idx<b, s, r, ?>>
!up  = tensor<96x48xf32, #tpsp.idx<e@tp, d>>
!dn  = tensor<48x96xf32, #tpsp.idx<d, e@tp>>
!ua  = tensor<8x48xf32, #tpsp.idx<r, d>>
!ub  = tensor<96x8xf32, #tpsp.idx<e@tp, r>>
!da  = tensor<8x96xf32, #tpsp.idx<r, e@tp>>
!db  = tensor<48x8xf32, #tpsp.idx<d, r>>
func.func @mlp(%x: !x {tpsp.name = "x"}, %gate: !up {tpsp.param = "gate", tpsp.frozen}, %up: !up {tpsp.param = "up", tpsp.frozen},
    %down: !dn {tpsp.param = "down", tpsp.frozen}, %ga: !ua {tpsp.param = "gate.a"}, %gb: !ub {tpsp.param = "gate.b"},
    %ua: !ua {tpsp.param = "up.a"}, %ub: !ub {tpsp.param = "up.b"}, %da: !da {tpsp.param = "down.a"}, %db: !db {tpsp.param = "down.b"}) -> !x {
  %g0 = tpsp.einsum %gate, %x : (!up, !x) -> !mid
  %g1 = tpsp.einsum %ga, %x : (!ua, !x) -> !low
  %g2 = tpsp.einsum %gb, %g1 : (!ub, !low) -> !mid
  %g3 = tpsp.add %g0, %g2 : !mid
  %g  = tpsp.silu %g3 : !mid
  %u0 = tpsp.einsum %up, %x : (!up, !x) -> !mid
  %u1 = tpsp.einsum %ua, %x : (!ua, !x) -> !low
  %u2 = tpsp.einsum %ub, %u1 : (!ub, !low) -> !mid
  %u  = tpsp.add %u0, %u2 : !mid
  %h  = tpsp.mul %g, %u : !mid
  %d0 = tpsp.einsum %down, %h : (!dn, !mid) -> !x_
  %d1 = tpsp.einsum %da, %h : (!da, !mid) -> !low
  %d2 = tpsp.einsum %db, %d1 : (!db, !low) -> !x_
  %z  = tpsp.add %x, %d0, %d2 : (!x, !x_, !x_) -> !x
  return %z : !x
}

//--- kvrep.mlir
// Key and value heads replicated over a part of the ranks, under sequence
// parallelism: gqa-replicated with s@kv@rep.
// CHECK:      totals
// CHECK-NEXT: forward all_gather over kv,rep x4 48.0 KiB
// CHECK-NEXT: forward reduce_scatter over kv,rep x4 48.0 KiB
// CHECK-NEXT: backward all_gather over kv,rep x8 96.0 KiB
// CHECK-NEXT: backward all_reduce over kv,rep x1 4.5 KiB
// CHECK-NEXT: backward all_reduce over rep x1 32.0 KiB
// CHECK-NEXT: backward reduce_scatter over kv,rep x4 48.0 KiB
// CHECK-NEXT: {{.*}} of every kind
tpsp.mesh @mesh <kv = 2 : model, rep = 2 : model>

!x     = tensor<2x16x128xf32, #tpsp.idx<b, s@kv@rep, d>>
!x_    = tensor<2x16x128xf32, #tpsp.idx<b, s, d, ?>>
!query = tensor<2x16x2x4x16xf32, #tpsp.idx<b, s, g, r, k, ?>>
!kv    = tensor<2x16x2x16xf32, #tpsp.idx<b, s, g, k, ?>>
!past  = tensor<2x16x2x16xf32, #tpsp.idx<b, t, g, k, ?>>
!mid   = tensor<2x16x128xf32, #tpsp.idx<b, s, e, ?>>

!vec   = tensor<128xf32, #tpsp.idx<d>>
!wq    = tensor<2x4x16x128xf32, #tpsp.idx<g@kv, r@rep, k, d>>
!wkv   = tensor<2x16x128xf32, #tpsp.idx<g@kv, k, d>>
!wo    = tensor<128x2x4x16xf32, #tpsp.idx<d, g@kv, r@rep, k>>
!w1    = tensor<128x128xf32, #tpsp.idx<e@kv@rep, d>>
!b1    = tensor<128xf32, #tpsp.idx<e@kv@rep>>
!w2    = tensor<128x128xf32, #tpsp.idx<d, e@kv@rep>>

func.func private @layer(
    %x: !x, %gain1: !vec, %wq: !wq, %wk: !wkv, %wv: !wkv, %wo: !wo,
    %gain2: !vec, %w1: !w1, %b1: !b1, %w2: !w2, %b2: !vec) -> !x {
  // Attention.
  %xn = tpsp.rms_norm %x, %gain1 : (!x, !vec) -> !x_
  %q  = tpsp.einsum %wq, %xn : (!wq, !x_) -> !query
  %k0 = tpsp.einsum %wk, %xn : (!wkv, !x_) -> !kv
  %k  = tpsp.rename %k0 : !kv -> !past
  %v0 = tpsp.einsum %wv, %xn : (!wkv, !x_) -> !kv
  %v  = tpsp.rename %v0 : !kv -> !past
  %o  = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
          scale = 0.25, causal} : (!query, !past, !past) -> !query
  %a  = tpsp.einsum %wo, %o : (!wo, !query) -> !x_
  %h  = tpsp.add %x, %a : (!x, !x_) -> !x_

  // MLP.
  %hn = tpsp.rms_norm %h, %gain2 : (!x_, !vec) -> !x_
  %m0 = tpsp.einsum %w1, %hn : (!w1, !x_) -> !mid
  %m1 = tpsp.add %m0, %b1 : (!mid, !b1) -> !mid
  %m2 = tpsp.gelu %m1 : !mid
  %m3 = tpsp.einsum %w2, %m2 : (!w2, !mid) -> !x_
  %m  = tpsp.add %m3, %b2 : (!x_, !vec) -> !x_
  %z  = tpsp.add %h, %m : (!x_, !x_) -> !x
  return %z : !x
}

func.func @model(
    %x: !x {tpsp.name = "x"},
    %gain1_0: !vec {tpsp.param = "layer0.gain1"},
    %wq_0: !wq {tpsp.param = "layer0.wq"},
    %wk_0: !wkv {tpsp.param = "layer0.wk"},
    %wv_0: !wkv {tpsp.param = "layer0.wv"},
    %wo_0: !wo {tpsp.param = "layer0.wo"},
    %gain2_0: !vec {tpsp.param = "layer0.gain2"},
    %w1_0: !w1 {tpsp.param = "layer0.w1"},
    %b1_0: !b1 {tpsp.param = "layer0.b1"},
    %w2_0: !w2 {tpsp.param = "layer0.w2"},
    %b2_0: !vec {tpsp.param = "layer0.b2"},
    %gain1_1: !vec {tpsp.param = "layer1.gain1"},
    %wq_1: !wq {tpsp.param = "layer1.wq"},
    %wk_1: !wkv {tpsp.param = "layer1.wk"},
    %wv_1: !wkv {tpsp.param = "layer1.wv"},
    %wo_1: !wo {tpsp.param = "layer1.wo"},
    %gain2_1: !vec {tpsp.param = "layer1.gain2"},
    %w1_1: !w1 {tpsp.param = "layer1.w1"},
    %b1_1: !b1 {tpsp.param = "layer1.b1"},
    %w2_1: !w2 {tpsp.param = "layer1.w2"},
    %b2_1: !vec {tpsp.param = "layer1.b2"}) -> !x {
  %layer0 = call @layer(%x, %gain1_0, %wq_0, %wk_0, %wv_0, %wo_0,
                        %gain2_0, %w1_0, %b1_0, %w2_0, %b2_0)
      : (!x, !vec, !wq, !wkv, !wkv, !wo, !vec, !w1, !b1, !w2, !vec) -> !x
  %layer1 = call @layer(%layer0, %gain1_1, %wq_1, %wk_1, %wv_1, %wo_1,
                        %gain2_1, %w1_1, %b1_1, %w2_1, %b2_1)
      : (!x, !vec, !wq, !wkv, !wkv, !wo, !vec, !w1, !b1, !w2, !vec) -> !x
  return %layer1 : !x
}

//--- shared.mlir
// A shared expert and routed ones, under tensor parallelism.
// CHECK:      totals
// CHECK-NEXT: forward all_reduce over tp x1 18.0 KiB
// CHECK-NEXT: backward all_reduce over tp x2 20.2 KiB
// CHECK-NEXT: {{.*}} of every kind
tpsp.mesh @mesh <tp = 4 : model>
!x     = tensor<2x32x48xf32, #tpsp.idx<g, s, d>>
!x_    = tensor<2x32x48xf32, #tpsp.idx<g, s, d, ?>>
!gate  = tensor<8x48xf32, #tpsp.idx<e, d>>
!up    = tensor<8x64x48xf32, #tpsp.idx<e, f@tp, d>>
!down  = tensor<8x48x64xf32, #tpsp.idx<e, d, f@tp>>
!sup   = tensor<64x48xf32, #tpsp.idx<f@tp, d>>
!sdown = tensor<48x64xf32, #tpsp.idx<d, f@tp>>
!score  = tensor<2x32x8xf32, #tpsp.idx<g, s, e, ?>>
!choice = tensor<2x32x2xi32, #tpsp.idx<g, s, k, ?>>
!weight = tensor<2x32x2xf32, #tpsp.idx<g, s, k, ?>>
!slots  = tensor<8x2x20x48xf32, #tpsp.idx<e, g, c, d, ?>>
!mid    = tensor<8x2x20x64xf32, #tpsp.idx<e, g, c, f, ?>>
!smid   = tensor<2x32x64xf32, #tpsp.idx<g, s, f, ?>>
func.func @moe(%x: !x {tpsp.name = "x"}, %gate: !gate {tpsp.param = "gate"}, %up: !up {tpsp.param = "up"}, %down: !down {tpsp.param = "down"},
    %sup: !sup {tpsp.param = "shared.up"}, %sdown: !sdown {tpsp.param = "shared.down"}) -> !x {
  %score  = tpsp.einsum %gate, %x : (!gate, !x) -> !score
  %choice = tpsp.router %score {expert = "e", choice = "k"} : (!score) -> !choice
  %best   = tpsp.one_hot_einsum %choice, %score {indices = ["e"]} : (!choice, !score) -> !weight
  %weight = tpsp.softmax %best {over = "k"} : !weight
  %y = tpsp.dispatch %choice, %x {expert = "e", slot = "c", choice = "k"} : (!choice, !x) -> !slots
  %u = tpsp.einsum %up, %y : (!up, !slots) -> !mid
  %a = tpsp.silu %u : !mid
  %v = tpsp.einsum %down, %a : (!down, !mid) -> !slots
  %m = tpsp.combine %choice, %weight, %v {expert = "e", slot = "c", choice = "k"} : (!choice, !weight, !slots) -> !x_
  %su = tpsp.einsum %sup, %x : (!sup, !x) -> !smid
  %sa = tpsp.silu %su : !smid
  %sd = tpsp.einsum %sdown, %sa : (!sdown, !smid) -> !x_
  %z = tpsp.add %x, %m, %sd : (!x, !x_, !x_) -> !x
  return %z : !x
}

//--- ids.mlir
// Every rank has its own positions. They are sent, not the table or the
// logits.
// CHECK:      totals
// CHECK-NEXT: forward all_gather over tp x3 9.4 KiB
// CHECK-NEXT: forward all_reduce over tp x2 390 B
// CHECK-NEXT: forward reduce_scatter over tp x3 9.4 KiB
// CHECK-NEXT: forward slice over tp x1 0 B
// CHECK-NEXT: backward all_gather over tp x5 18.6 KiB
// CHECK-NEXT: backward all_reduce over tp x1 288 B
// CHECK-NEXT: backward reduce_scatter over tp x1 9.0 KiB
// CHECK-NEXT: backward slice over tp x1 0 B
// CHECK-NEXT: {{.*}} of every kind
tpsp.mesh @mesh <tp = 4 : model>
!ids    = tensor<2x32xi32, #tpsp.idx<b, s@tp>>
!table  = tensor<64x48xf32, #tpsp.idx<v@tp, d>>
!x      = tensor<2x32x48xf32, #tpsp.idx<b, s@tp, d>>
!x_     = tensor<2x32x48xf32, #tpsp.idx<b, s, d, ?>>
!gain   = tensor<48xf32, #tpsp.idx<d>>
!logits = tensor<2x32x64xf32, #tpsp.idx<b, s, v, ?>>
!token  = tensor<2x32xf32, #tpsp.idx<b, s, ?>>
!loss   = tensor<f32, #tpsp.idx<>>
func.func @model(%ids: !ids {tpsp.name = "ids"}, %targets: !ids {tpsp.name = "targets"},
    %table: !table {tpsp.param = "table"}, %gain: !gain {tpsp.param = "gain"}) -> !loss {
  %x = tpsp.embedding %ids, %table {vocabulary = "v"} : (!ids, !table) -> !x
  %n = tpsp.rms_norm %x, %gain : (!x, !gain) -> !x_
  %logits = tpsp.einsum %table, %n : (!table, !x_) -> !logits
  %token = tpsp.cross_entropy %logits, %targets {over = "v"} : (!logits, !ids) -> !token
  %loss = tpsp.mean %token : (!token) -> !loss
  return %loss : !loss
}

//--- table.mlir
// A bias of scores, looked up in a small table: its gradient is reduced as the
// table, not as scores.
// CHECK:      totals
// CHECK-NEXT: backward all_reduce over dp x1 192 B
// CHECK-NEXT: {{.*}} of every kind
tpsp.mesh @mesh <dp = 4 : data>
!at   = tensor<16x16xi32, #tpsp.idx<s, t>>
!rel  = tensor<8x4xf32, #tpsp.idx<n, h>>
!bias = tensor<4x16x16xf32, #tpsp.idx<h, s, t, ?>>
!sc   = tensor<8x4x16x16xf32, #tpsp.idx<b@dp, h, s, t>>
func.func @scores(%at: !at {tpsp.name = "buckets"}, %rel: !rel {tpsp.param = "rel"}, %x: !sc {tpsp.name = "scores"}) -> !sc {
  %b = tpsp.embedding %at, %rel {vocabulary = "n"} : (!at, !rel) -> !bias
  %y = tpsp.add %x, %b : (!sc, !bias) -> !sc
  %p = tpsp.softmax %y {over = "t"} : !sc
  %z = tpsp.add %p, %b : (!sc, !bias) -> !sc
  return %z : !sc
}

//--- order.mlir
// The axes of a weight in the other order: it is put in order, which is little,
// and tensor parallelism stays.
// CHECK:      totals
// CHECK-NEXT: forward all_gather over fsdp x2 9.0 KiB
// CHECK-NEXT: forward all_reduce over tp x1 6.0 KiB
// CHECK-NEXT: forward permute over tp,fsdp x2 9.0 KiB
// CHECK-NEXT: backward all_gather over fsdp x2 9.0 KiB
// CHECK-NEXT: backward all_reduce over tp x1 6.0 KiB
// CHECK-NEXT: backward permute over fsdp,tp x2 9.0 KiB
// CHECK-NEXT: backward permute over tp,fsdp x2 9.0 KiB
// CHECK-NEXT: backward reduce_scatter over fsdp x2 9.0 KiB
// CHECK-NEXT: {{.*}} of every kind
tpsp.mesh @mesh <fsdp = 2 : data, tp = 2 : model>
!x  = tensor<4x16x48xf32, #tpsp.idx<b@fsdp, s, d>>
!h  = tensor<4x16x96xf32, #tpsp.idx<b, s, e, ?>>
!w1 = tensor<96x48xf32, #tpsp.idx<e@fsdp@tp, d>>
!w2 = tensor<48x96xf32, #tpsp.idx<d, e@fsdp@tp>>
func.func @mlp(%x: !x {tpsp.name = "x"}, %w1: !w1 {tpsp.param = "w1"}, %w2: !w2 {tpsp.param = "w2"}) -> !x {
  %u = tpsp.einsum %w1, %x : (!w1, !x) -> !h
  %g = tpsp.gelu %u : !h
  %z = tpsp.einsum %w2, %g : (!w2, !h) -> !x
  return %z : !x
}

//--- heads.mlir
// Heads in groups: o@kv@rep is g@kv, r@rep, for kv divides all groups. Nothing
// is gathered.
// CHECK-LABEL: f_grad on kv=2, rep=2
// CHECK: q[b, s, g@kv, r@rep, k] = split(a[b, s, o@kv@rep])
// CHECK: m[b, s, o@kv@rep] = merge(v[b, s, g@kv, r@rep, k])
// CHECK-LABEL: backward
// CHECK: g[v][b, s, g@kv, r@rep, k] = split(g[m][b, s, o@kv@rep])
// CHECK-LABEL: totals
// CHECK-NEXT: forward   all_reduce      over kv,rep   x1
// CHECK-NEXT: backward  all_reduce      over kv,rep   x1
// CHECK-NEXT: backward  all_reduce      over rep      x1
// CHECK-NEXT: {{.*}} of every kind
tpsp.mesh @mesh <kv = 2 : model, rep = 2 : model>
!x = tensor<2x6x8xf32, #tpsp.idx<b, s, d>>
!w = tensor<48x8xf32, #tpsp.idx<o@kv@rep, d>>
!q2 = tensor<2x6x48xf32, #tpsp.idx<b, s, o, ?>>
!q = tensor<2x6x2x4x6xf32, #tpsp.idx<b, s, g, r, k, ?>>
!k = tensor<2x6x2x6xf32, #tpsp.idx<b, t, g, k, ?>>
!wk = tensor<2x6x8xf32, #tpsp.idx<g@kv, k, d>>
!xt = tensor<2x6x8xf32, #tpsp.idx<b, t, d, ?>>
!qk = tensor<2x6x6x2x4xf32, #tpsp.idx<b, s, t, g, r, ?>>
!a2 = tensor<2x6x48xf32, #tpsp.idx<b, s, o, ?>>
!wo = tensor<8x48xf32, #tpsp.idx<d, o@kv@rep>>
!y = tensor<2x6x8xf32, #tpsp.idx<b, s, d>>
func.func @f(%x: !x {tpsp.name = "x"}, %w: !w {tpsp.param = "wq"}, %wk: !wk {tpsp.param = "wk"}, %wo: !wo {tpsp.param = "wo"}) -> !y {
  %a = tpsp.einsum %w, %x : (!w, !x) -> !q2
  %q = tpsp.split %a : !q2 -> !q
  %xt = tpsp.rename %x : !x -> !xt
  %k = tpsp.einsum %wk, %xt : (!wk, !xt) -> !k
  %qk = tpsp.einsum %q, %k : (!q, !k) -> !qk
  %p = tpsp.softmax %qk {over = "t"} : !qk
  %v = tpsp.einsum %p, %k : (!qk, !k) -> !q
  %m = tpsp.merge %v : !q -> !a2
  %y = tpsp.einsum %wo, %m : (!wo, !a2) -> !y
  return %y : !y
}

//--- rotary.mlir
// A key shared by heads is sent before it is broadcast over them.
// CHECK:      totals
// CHECK-NEXT: forward all_gather over tp x1 576 B
// CHECK-NEXT: backward reduce_scatter over tp x1 576 B
// CHECK-NEXT: {{.*}} of every kind
tpsp.mesh @mesh <tp = 4 : model>
!k  = tensor<32x6xf32, #tpsp.idx<s@tp, r>>
!kh = tensor<32x8x6xf32, #tpsp.idx<s, h, r, ?>>
!q  = tensor<32x8x6xf32, #tpsp.idx<s, h@tp, r>>
func.func @keys(%k: !k {tpsp.name = "k"}, %q: !q {tpsp.name = "q"}) -> !q {
  %b = tpsp.broadcast %k : (!k) -> !kh
  %z = tpsp.add %q, %b : (!q, !kh) -> !q
  return %z : !q
}

//--- rows.mlir
// Norms and a causal softmax over divided rows: statistics are reduced.
// CHECK:      totals
// CHECK-NEXT: forward all_reduce over tp x5 720 B
// CHECK-NEXT: forward reduce_scatter over tp x1 3.4 KiB
// CHECK-NEXT: backward all_gather over tp x1 3.4 KiB
// CHECK-NEXT: backward all_reduce over tp x4 576 B
// CHECK-NEXT: {{.*}} of every kind
tpsp.mesh @mesh <tp = 4 : model>
!x  = tensor<24x48xf32, #tpsp.idx<s, d@tp>>
!x_ = tensor<24x48xf32, #tpsp.idx<s, d, ?>>
!g  = tensor<48xf32, #tpsp.idx<d@tp>>
!p  = tensor<24x48xf32, #tpsp.idx<s, t@tp>>
!v  = tensor<48x48xf32, #tpsp.idx<d, t@tp>>
func.func @rows(%x: !x {tpsp.name = "x"}, %gain: !g {tpsp.param = "gain"}, %bias: !g {tpsp.param = "bias"}, %scores: !p {tpsp.name = "scores"}, %v: !v {tpsp.param = "v"}) -> !x {
  %n = tpsp.layer_norm %x, %gain, %bias : (!x, !g, !g) -> !x_
  %p = tpsp.softmax %scores {over = "t", causal = "s"} : !p
  %o = tpsp.einsum %v, %p : (!v, !p) -> !x_
  %h = tpsp.add %n, %o : !x_
  %z = tpsp.rms_norm %h, %gain : (!x_, !g) -> !x
  return %z : !x
}

//--- written.mlir
// The same sums written: combine is linear in the slots, mean in its operand.
tpsp.mesh @mesh <tp = 4 : model>
!x     = tensor<2x32x48xf32, #tpsp.idx<g, s, d>>
!x_    = tensor<2x32x48xf32, #tpsp.idx<g, s, d, ?>>
!gate  = tensor<8x48xf32, #tpsp.idx<e, d>>
!up    = tensor<8x64x48xf32, #tpsp.idx<e, f@tp, d>>
!down  = tensor<8x48x64xf32, #tpsp.idx<e, d, f@tp>>
!sup   = tensor<64x48xf32, #tpsp.idx<f@tp, d>>
!sdown = tensor<48x64xf32, #tpsp.idx<d, f@tp>>
!score  = tensor<2x32x8xf32, #tpsp.idx<g, s, e, ?>>
!choice = tensor<2x32x2xi32, #tpsp.idx<g, s, k, ?>>
!weight = tensor<2x32x2xf32, #tpsp.idx<g, s, k, ?>>
!slots  = tensor<8x2x20x48xf32, #tpsp.idx<e, g, c, d, ?>>
!slotsp = tensor<8x2x20x48xf32, #tpsp.idx<e, g, c, d | sum@tp>>
!xp = tensor<2x32x48xf32, #tpsp.idx<g, s, d | sum@tp>>
!mid    = tensor<8x2x20x64xf32, #tpsp.idx<e, g, c, f, ?>>
!smid   = tensor<2x32x64xf32, #tpsp.idx<g, s, f, ?>>
func.func @moe(%x: !x {tpsp.name = "x"}, %gate: !gate {tpsp.param = "gate"}, %up: !up {tpsp.param = "up"}, %down: !down {tpsp.param = "down"},
    %sup: !sup {tpsp.param = "shared.up"}, %sdown: !sdown {tpsp.param = "shared.down"}) -> !x {
  %score  = tpsp.einsum %gate, %x : (!gate, !x) -> !score
  %choice = tpsp.router %score {expert = "e", choice = "k"} : (!score) -> !choice
  %best   = tpsp.one_hot_einsum %choice, %score {indices = ["e"]} : (!choice, !score) -> !weight
  %weight = tpsp.softmax %best {over = "k"} : !weight
  %y = tpsp.dispatch %choice, %x {expert = "e", slot = "c", choice = "k"} : (!choice, !x) -> !slots
  %u = tpsp.einsum %up, %y : (!up, !slots) -> !mid
  %a = tpsp.silu %u : !mid
  %v = tpsp.einsum %down, %a : (!down, !mid) -> !slotsp
  %m = tpsp.combine %choice, %weight, %v {expert = "e", slot = "c", choice = "k"} : (!choice, !weight, !slotsp) -> !xp
  %su = tpsp.einsum %sup, %x : (!sup, !x) -> !smid
  %sa = tpsp.silu %su : !smid
  %sd = tpsp.einsum %sdown, %sa : (!sdown, !smid) -> !x_
  %z = tpsp.add %x, %m, %sd : (!x, !xp, !x_) -> !x
  return %z : !x
}

func.func @mean(%x: tensor<16x8xf32, #tpsp.idx<s@tp, d>>) -> tensor<8xf32, #tpsp.idx<d | sum@tp>> {
  %y = tpsp.mean %x : (tensor<16x8xf32, #tpsp.idx<s@tp, d>>) -> tensor<8xf32, #tpsp.idx<d | sum@tp>>
  return %y : tensor<8xf32, #tpsp.idx<d | sum@tp>>
}

//--- t5.mlir
// A decoder's block of T5 under sequence parallelism: a bias by relative
// position, attention to an encoder's result, a gated MLP. Tensors gathered for
// the forward pass are not saved, and neither are their views.
// CHECK-LABEL: totals
// CHECK: forward   all_gather      over tp       x4        13.5 KiB
// CHECK: forward   reduce_scatter  over tp       x3         9.0 KiB
// CHECK: backward  all_gather      over tp       x7        22.5 KiB
// CHECK: backward  all_reduce      over tp       x1           576 B
// CHECK: backward  reduce_scatter  over tp       x4        13.5 KiB
// CHECK-LABEL: saved for
// CHECK-NOT: [b, s, d]
// CHECK-NOT: [b, u, d]
tpsp.mesh @mesh <tp = 4 : model>
!x      = tensor<2x16x32xf32, #tpsp.idx<b, s@tp, d>>
!x_     = tensor<2x16x32xf32, #tpsp.idx<b, s, d, ?>>
!m      = tensor<2x24x32xf32, #tpsp.idx<b, t@tp, d>>
!vec    = tensor<32xf32, #tpsp.idx<d>>
!wq     = tensor<8x8x32xf32, #tpsp.idx<h@tp, k, d>>
!wo     = tensor<32x8x8xf32, #tpsp.idx<d, h@tp, k>>
!q      = tensor<2x16x8x8xf32, #tpsp.idx<b, s, h, k, ?>>
!kv     = tensor<2x16x8x8xf32, #tpsp.idx<b, u, h, k, ?>>
!kvm    = tensor<2x24x8x8xf32, #tpsp.idx<b, t, h, k, ?>>
!xu     = tensor<2x16x32xf32, #tpsp.idx<b, u, d, ?>>
!score  = tensor<2x8x16x16xf32, #tpsp.idx<b, h, s, u, ?>>
!cross  = tensor<2x8x16x24xf32, #tpsp.idx<b, h, s, t, ?>>
!bucket = tensor<16x16xi32, #tpsp.idx<s, u>>
!rel    = tensor<12x8xf32, #tpsp.idx<n, h@tp>>
!bias   = tensor<8x16x16xf32, #tpsp.idx<h, s, u, ?>>
!wi     = tensor<64x32xf32, #tpsp.idx<e@tp, d>>
!wd     = tensor<32x64xf32, #tpsp.idx<d, e@tp>>
!mid    = tensor<2x16x64xf32, #tpsp.idx<b, s, e, ?>>
func.func @decoder(%x: !x {tpsp.name = "x"}, %m: !m {tpsp.name = "memory"}, %bucket: !bucket {tpsp.name = "bucket", tpsp.below = 12 : i64},
    %rel: !rel {tpsp.param = "rel"},
    %n0: !vec {tpsp.param = "n0"}, %q0: !wq {tpsp.param = "q0"}, %k0: !wq {tpsp.param = "k0"}, %v0: !wq {tpsp.param = "v0"}, %o0: !wo {tpsp.param = "o0"},
    %n1: !vec {tpsp.param = "n1"}, %q1: !wq {tpsp.param = "q1"}, %k1: !wq {tpsp.param = "k1"}, %v1: !wq {tpsp.param = "v1"}, %o1: !wo {tpsp.param = "o1"},
    %n2: !vec {tpsp.param = "n2"}, %wg: !wi {tpsp.param = "wg"}, %wu: !wi {tpsp.param = "wu"}, %wd: !wd {tpsp.param = "wd"}) -> !x {
  // Self-attention, with a bias by relative position.
  %a = tpsp.rms_norm %x, %n0 : (!x, !vec) -> !x_
  %au = tpsp.rename %a : !x_ -> !xu
  %q = tpsp.einsum %q0, %a : (!wq, !x_) -> !q
  %k = tpsp.einsum %k0, %au : (!wq, !xu) -> !kv
  %v = tpsp.einsum %v0, %au : (!wq, !xu) -> !kv
  %qk = tpsp.einsum %q, %k : (!q, !kv) -> !score
  %bias = tpsp.embedding %bucket, %rel {vocabulary = "n"} : (!bucket, !rel) -> !bias
  %biased = tpsp.add %qk, %bias : (!score, !bias) -> !score
  %p = tpsp.softmax %biased {over = "u"} : !score
  %pv = tpsp.einsum %p, %v : (!score, !kv) -> !q
  %so = tpsp.einsum %o0, %pv : (!wo, !q) -> !x_
  %x1 = tpsp.add %x, %so : (!x, !x_) -> !x
  // Attention to the encoder's result.
  %c = tpsp.rms_norm %x1, %n1 : (!x, !vec) -> !x_
  %cq = tpsp.einsum %q1, %c : (!wq, !x_) -> !q
  %ck = tpsp.einsum %k1, %m : (!wq, !m) -> !kvm
  %cv = tpsp.einsum %v1, %m : (!wq, !m) -> !kvm
  %cs = tpsp.einsum %cq, %ck : (!q, !kvm) -> !cross
  %cp = tpsp.softmax %cs {over = "t"} : !cross
  %cpv = tpsp.einsum %cp, %cv : (!cross, !kvm) -> !q
  %co = tpsp.einsum %o1, %cpv : (!wo, !q) -> !x_
  %x2 = tpsp.add %x1, %co : (!x, !x_) -> !x
  // Gated MLP.
  %e = tpsp.rms_norm %x2, %n2 : (!x, !vec) -> !x_
  %g = tpsp.einsum %wg, %e : (!wi, !x_) -> !mid
  %ga = tpsp.gelu %g : !mid
  %u = tpsp.einsum %wu, %e : (!wi, !x_) -> !mid
  %gu = tpsp.mul %ga, %u : !mid
  %d = tpsp.einsum %wd, %gu : (!wd, !mid) -> !x_
  %z = tpsp.add %x2, %d : (!x, !x_) -> !x
  return %z : !x
}

//--- mla.mlir
// MLA: low-rank keys shared by heads, under sequence parallelism.
// CHECK:      totals
// CHECK-NEXT: forward all_gather over tp x1 12.0 KiB
// CHECK-NEXT: forward reduce_scatter over tp x1 12.0 KiB
// CHECK-NEXT: backward all_gather over tp x2 24.0 KiB
// CHECK-NEXT: backward all_reduce over tp x1 6.1 KiB
// CHECK-NEXT: backward reduce_scatter over tp x1 12.0 KiB
// CHECK-NEXT: {{.*}} of every kind
tpsp.mesh @mesh <tp = 4 : model>
!x    = tensor<2x32x64xf32, #tpsp.idx<b, s@tp, d>>
!x_   = tensor<2x32x64xf32, #tpsp.idx<b, s, d, ?>>
!c    = tensor<2x32x16xf32, #tpsp.idx<b, s, r, ?>>
!head = tensor<2x32x8x8xf32, #tpsp.idx<b, s, h, k, ?>>
!past = tensor<2x32x8x8xf32, #tpsp.idx<b, t, h, k, ?>>
!wdkv = tensor<16x64xf32, #tpsp.idx<r, d>>
!gain = tensor<16xf32, #tpsp.idx<r>>
!wq   = tensor<8x8x64xf32, #tpsp.idx<h@tp, k, d>>
!wu   = tensor<8x8x16xf32, #tpsp.idx<h@tp, k, r>>
!wo   = tensor<64x8x8xf32, #tpsp.idx<d, h@tp, k>>
func.func @mla(%x: !x {tpsp.name = "x"}, %wdkv: !wdkv {tpsp.param = "wdkv"}, %gain: !gain {tpsp.param = "gain"}, %wq: !wq {tpsp.param = "wq"}, %wuk: !wu {tpsp.param = "wuk"}, %wuv: !wu {tpsp.param = "wuv"}, %wo: !wo {tpsp.param = "wo"}) -> !x {
  %c0 = tpsp.einsum %wdkv, %x : (!wdkv, !x) -> !c
  %c  = tpsp.rms_norm %c0, %gain : (!c, !gain) -> !c
  %q  = tpsp.einsum %wq, %x : (!wq, !x) -> !head
  %k0 = tpsp.einsum %wuk, %c : (!wu, !c) -> !head
  %k  = tpsp.rename %k0 : !head -> !past
  %v0 = tpsp.einsum %wuv, %c : (!wu, !c) -> !head
  %v  = tpsp.rename %v0 : !head -> !past
  %o  = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.35, causal} : (!head, !past, !past) -> !head
  %a  = tpsp.einsum %wo, %o : (!wo, !head) -> !x_
  %z  = tpsp.add %x, %a : (!x, !x_) -> !x
  return %z : !x
}
