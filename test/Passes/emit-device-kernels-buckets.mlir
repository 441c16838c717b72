// RUN: tpsp-opt %s --convert-tpsp-to-plan --tpsp-emit-device-kernels | FileCheck %s

// 16384 tokens of 50304 words: a block has 191 words, and a state of each in
// every of its 32 warps. A warp finds the lanes of each word twice: to find its
// changes, and to write links.
// CHECK-LABEL: gpu.func @kernel0_one_hot_einsum_lists
// CHECK-SAME: workgroup(%[[STATES:.+]] : memref<32x191xi32, #gpu.address_space<workgroup>>)
// CHECK-SAME: tpsp.launch = array<i64: 1024, 191, 1, 0>
// CHECK: memref.store %c-1_i32{{.*}}, %[[STATES]]
// CHECK: gpu.barrier
// CHECK-COUNT-4: nvvm.match.sync any
// CHECK-NOT: nvvm.match.sync
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK-COUNT-4: gpu.shuffle idx
// CHECK: gpu.return
func.func @lists(%ids: tensor<16384xi32, #tpsp.idx<s>>, %x: tensor<16384x64xbf16, #tpsp.idx<s, d>>) -> tensor<50304x64xbf16, #tpsp.idx<v, d>> {
  %y = tpsp.one_hot_einsum %ids, %x {indices = ["v"]}
     : (tensor<16384xi32, #tpsp.idx<s>>, tensor<16384x64xbf16, #tpsp.idx<s, d>>) -> tensor<50304x64xbf16, #tpsp.idx<v, d>>
  return %y : tensor<50304x64xbf16, #tpsp.idx<v, d>>
}

// Counts are not written for each integer, so it is visited once.
// CHECK-LABEL: gpu.func @kernel{{.*}}_count_values
// CHECK-SAME: tpsp.launch = array<i64: 1024, 1, 1, 0>
// CHECK-COUNT-4: nvvm.match.sync any
// CHECK-NOT: nvvm.match.sync
// CHECK: gpu.return
func.func @load(%choice: tensor<8192x2xi32, #tpsp.idx<s, k>>) -> tensor<8xi32, #tpsp.idx<i>> {
  %y = tpsp.count_values %choice {over = ["s", "k"], of = ["i"]}
     : (tensor<8192x2xi32, #tpsp.idx<s, k>>) -> tensor<8xi32, #tpsp.idx<i>>
  return %y : tensor<8xi32, #tpsp.idx<i>>
}

// A run of rows is a block's.
// CHECK-LABEL: gpu.func @kernel{{.*}}_runs
// CHECK-SAME: tpsp.launch = array<i64: 1024, 1, 1, 0>
// CHECK: scf.for %{{.+}} = %{{.+}} to %{{.+}} step %c1024
func.func @expert(%load: tensor<8xi32, #tpsp.idx<i>>) -> tensor<16384xi32, #tpsp.idx<c>> {
  %y = tpsp.runs %load {of = "i", along = "c"} : (tensor<8xi32, #tpsp.idx<i>>) -> tensor<16384xi32, #tpsp.idx<c>>
  return %y : tensor<16384xi32, #tpsp.idx<c>>
}
