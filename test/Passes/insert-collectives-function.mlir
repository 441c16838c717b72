// The whole function decides: existing gathers enter the choice, sums wait until
// they meet, integers move rather than tables, and tensors move before they are
// broadcast.

// DEFINE: %{insert} = --tpsp-propagate --tpsp-insert-collectives
// RUN: split-file %s %t
// RUN: tpsp-opt %t/gather.mlir %{insert} | FileCheck %t/gather.mlir
// RUN: tpsp-opt %t/sums.mlir %{insert} | FileCheck %t/sums.mlir
// RUN: tpsp-opt %t/ids.mlir %{insert} | FileCheck %t/ids.mlir
// RUN: tpsp-opt %t/broadcast.mlir %{insert} | FileCheck %t/broadcast.mlir

//--- gather.mlir
// The adapter's small product is done where x is gathered anyway.
// CHECK-LABEL: func.func @lora
// CHECK:     tpsp.all_gather %{{.*}} ["tp"] {{.*}}tensor = "x"
// CHECK-NOT: tpsp.{{all|reduce_scatter}}
tpsp.mesh @mesh <tp = 4 : model>
!x = tensor<64x128xf32, #tpsp.idx<s@tp, d>>
!y = tensor<64x256xf32, #tpsp.idx<s, e, ?>>
!r = tensor<64x8xf32, #tpsp.idx<s, r, ?>>
!w = tensor<256x128xf32, #tpsp.idx<e@tp, d>>
!a = tensor<8x128xf32, #tpsp.idx<r, d>>
!b = tensor<256x8xf32, #tpsp.idx<e@tp, r>>
func.func @lora(%x: !x {tpsp.name = "x"}, %w: !w {tpsp.param = "w"},
                %a: !a {tpsp.param = "a"}, %b: !b {tpsp.param = "b"}) -> !y {
  %y0 = tpsp.einsum %w, %x : (!w, !x) -> !y
  %u = tpsp.einsum %a, %x : (!a, !x) -> !r
  %y1 = tpsp.einsum %b, %u : (!b, !r) -> !y
  %y = tpsp.add %y0, %y1 : !y
  return %y : !y
}

//--- sums.mlir
// Two branches on one residual stream are reduced once.
// CHECK-LABEL: func.func @parallel
// CHECK:     %[[C:.*]] = tpsp.add {{.*}}| sum@tp
// CHECK:     tpsp.all_reduce %[[C]]
// CHECK-NOT: tpsp.all_reduce
tpsp.mesh @mesh <tp = 4 : model>
!x = tensor<64x128xf32, #tpsp.idx<s, d>>
!x_ = tensor<64x128xf32, #tpsp.idx<s, d, ?>>
!h = tensor<64x256xf32, #tpsp.idx<s, e@tp>>
!w = tensor<128x256xf32, #tpsp.idx<d, e@tp>>
func.func @parallel(%x: !x {tpsp.name = "x"}, %h: !h {tpsp.name = "h"},
                    %k: !h {tpsp.name = "k"}, %u: !w {tpsp.param = "u"},
                    %w: !w {tpsp.param = "w"}) -> !x {
  %a = tpsp.einsum %u, %h : (!w, !h) -> !x_
  %b = tpsp.einsum %w, %k : (!w, !h) -> !x_
  %c = tpsp.add %a, %b : !x_
  %z = tpsp.add %x, %c : (!x, !x_) -> !x
  return %z : !x
}

//--- ids.mlir
// CHECK-LABEL: func.func @lookup
// CHECK:     tpsp.all_gather %{{.*}} ["tp"] {{.*}}tensor = "ids"
// CHECK:     tpsp.reduce_scatter
// CHECK-NOT: tpsp.all_gather
tpsp.mesh @mesh <tp = 4 : model>
!ids = tensor<4096xi32, #tpsp.idx<s@tp>>
!x = tensor<4096x128xf32, #tpsp.idx<s@tp, d>>
!t = tensor<32000x128xf32, #tpsp.idx<v@tp, d>>
func.func @lookup(%ids: !ids {tpsp.name = "ids"},
                  %t: !t {tpsp.param = "table"}) -> !x {
  %x = tpsp.embedding %ids, %t {vocabulary = "v"} : (!ids, !t) -> !x
  return %x : !x
}

//--- broadcast.mlir
// CHECK-LABEL: func.func @rotary
// CHECK:     tpsp.all_gather %{{.*}} ["tp"] {{.*}}tensor = "k"
// CHECK-NOT: tpsp.all_to_all
tpsp.mesh @mesh <tp = 4 : model>
!k = tensor<64x8xf32, #tpsp.idx<s@tp, r>>
!kh_ = tensor<64x16x8xf32, #tpsp.idx<s, h, r, ?>>
!kh = tensor<64x16x8xf32, #tpsp.idx<s, h@tp, r>>
func.func @rotary(%k: !k {tpsp.name = "k"}, %q: !kh {tpsp.name = "q"}) -> !kh {
  %b = tpsp.broadcast %k : (!k) -> !kh_
  %z = tpsp.add %q, %b : (!kh, !kh_) -> !kh
  return %z : !kh
}
