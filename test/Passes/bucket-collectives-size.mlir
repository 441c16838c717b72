// Buckets of limited size, filled in the order in which tensors become ready.
// RUN: tpsp-opt %s --tpsp-bucket-collectives=bucket-bytes=128 | FileCheck %s --check-prefix=TWO
// RUN: tpsp-opt %s --tpsp-bucket-collectives=bucket-bytes=191 | FileCheck %s --check-prefix=TWO
// RUN: tpsp-opt %s --tpsp-bucket-collectives=bucket-bytes=192 | FileCheck %s --check-prefix=THREE
// RUN: tpsp-opt %s --tpsp-bucket-collectives=bucket-bytes=0 | FileCheck %s --check-prefix=ALONE
// RUN: tpsp-opt %s --tpsp-bucket-collectives | FileCheck %s --check-prefix=ALL
// RUN: tpsp-opt %s --tpsp-bucket-collectives=bucket-bytes=128 --remarks-filter='tpsp-.*' 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not tpsp-opt %s --tpsp-bucket-collectives=bucket-bytes=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE

tpsp.mesh @mesh <dp = 2, tp = 4>

// 64 bytes on every rank; the last is sharded and has 16.
!g = tensor<16xf32, #tpsp.idx<d>>
!p = tensor<16xf32, #tpsp.idx<d | sum@dp>>
!gs = tensor<16xf32, #tpsp.idx<d@tp>>
!ps = tensor<16xf32, #tpsp.idx<d@tp | sum@dp>>

// TWO: all_reduce %{{[a-z0-9]+}}, %{{[a-z0-9]+}} ["dp"] {tensor = "a, b"}
// TWO: all_reduce %{{[a-z0-9]+}}, %{{[a-z0-9]+}} ["dp"] {tensor = "c, s"}
// THREE: all_reduce {{.*}} ["dp"] {tensor = "a, b, c"}
// THREE: all_reduce {{.*}} ["dp"] {tensor = "s"}
// ALONE-COUNT-4: all_reduce %{{[a-z0-9]+}} ["dp"]
// ALL: all_reduce {{.*}} ["dp"] {tensor = "a, b, c, s"}
// REMARK: tpsp-bucket-collectives{{.*}}2 collectives are one{{.*}}bytes=128
// REMARK: tpsp-bucket-collectives{{.*}}2 collectives are one{{.*}}bytes=80
// NEGATIVE: error: option 'bucket-bytes' of tpsp-bucket-collectives: bucket-bytes=-1 is no size of a bucket; 0 is one for each tensor
func.func @f(%a: !p, %b: !p, %c: !p, %s: !ps) -> (!g, !g, !g, !gs) {
  %0 = tpsp.all_reduce %a ["dp"] {tensor = "a"} : (!p) -> !g
  %1 = tpsp.all_reduce %b ["dp"] {tensor = "b"} : (!p) -> !g
  %2 = tpsp.all_reduce %c ["dp"] {tensor = "c"} : (!p) -> !g
  %3 = tpsp.all_reduce %s ["dp"] {tensor = "s"} : (!ps) -> !gs
  return %0, %1, %2, %3 : !g, !g, !g, !gs
}
