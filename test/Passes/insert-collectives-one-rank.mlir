// Axes of one rank: no other axis moves because of them, wherever they are.
// RUN: tpsp-opt %s --tpsp-insert-collectives | FileCheck %s
// RUN: tpsp-opt %s --tpsp-collective-pipeline | tpsp-opt --tpsp-partition | FileCheck %s --check-prefix=LOCAL
// RUN: tpsp-opt %s --tpsp-collective-pipeline | tpsp-opt --tpsp-partition=keep-trivial | FileCheck %s --check-prefix=KEPT

tpsp.mesh @mesh <pp = 1, tp = 4 : model>

!before = tensor<8x32xf32, #tpsp.idx<b, d@pp@tp>>
!after = tensor<8x32xf32, #tpsp.idx<b, d@tp@pp>>
!without = tensor<8x32xf32, #tpsp.idx<b, d@tp>>

// LOCAL-NOT: ["pp"]

// It is taken out where it stands before tp.
// CHECK-LABEL: @taken_out
// CHECK-NEXT: tpsp.square
// CHECK-NEXT: tpsp.all_gather %{{.+}} ["pp"] {{.*}} -> tensor<8x32xf32, #tpsp.idx<b, d@tp>>
// CHECK-NEXT: return
// KEPT-LABEL: @taken_out
// KEPT: tpsp.all_gather %{{.+}} ["pp"]
func.func @taken_out(%x: !before) -> !without {
  %y = tpsp.square %x : (!before) -> !without
  return %y : !without
}

// And put in before it.
// CHECK-LABEL: @put_in
// CHECK: tpsp.slice %{{.+}} ["pp"]
// CHECK-NOT: ["tp"]
// CHECK: return
func.func @put_in(%x: !without) -> !before {
  %y = tpsp.square %x : (!without) -> !before
  return %y : !before
}

// CHECK-LABEL: @reordered
// CHECK-NOT: permute
// CHECK: return
func.func @reordered(%x: !before) -> !after {
  %y = tpsp.square %x : (!before) -> !after
  return %y : !after
}

// A contraction of operands that have it in different places needs nothing
// but the sum.
// CHECK-LABEL: @contraction
// CHECK-NOT: permute
// CHECK-NOT: ["tp"]
// CHECK: tpsp.all_reduce %{{.+}} [{{.*}}"tp"
// CHECK-NOT: ["tp"]
// CHECK: return
func.func @contraction(%x: !before, %w: tensor<32x16xf32, #tpsp.idx<d@tp@pp, e>>) -> tensor<8x16xf32, #tpsp.idx<b, e>> {
  %y = tpsp.einsum %x, %w : (!before, tensor<32x16xf32, #tpsp.idx<d@tp@pp, e>>) -> tensor<8x16xf32, #tpsp.idx<b, e>>
  return %y : tensor<8x16xf32, #tpsp.idx<b, e>>
}

// A written collective is kept, whatever the mesh needs.
// CHECK-LABEL: @written
// CHECK: tpsp.permute %{{.+}} ["tp", "pp"]
func.func @written(%x: !before) -> !after {
  %y = tpsp.permute %x ["tp", "pp"] : !before -> !after
  return %y : !after
}
