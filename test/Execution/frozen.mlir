// A matrix with an adapter of low rank: the frozen matrix and the frozen input
// have no gradients, and nothing is computed or sent for them.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify | FileCheck %s
// RUN: tpsp-run %s --grad --verify --quiet --mesh tp=1
// RUN: tpsp-run %s --grad --verify --quiet --mesh tp=2,dp=2 --dtype bf16 --micro-batches 2
// RUN: tpsp-run %s --grad --verify --quiet --rematerialize full --overlap on
// RUN: tpsp-run %s --grad --quiet --save %t.safetensors
// RUN: tpsp-run %s --grad --verify --quiet --weights %t.safetensors --mesh tp=1

// CHECK:     backward all_reduce
// CHECK-NOT: g[{{x|w}}]
// CHECK:     Verified
// CHECK:     z
// CHECK-DAG: g[down]
// CHECK-DAG: g[up]
// CHECK-NOT: g[{{x|w}}]
// CHECK:     all within tolerance

// Without them, x's gradient is a sum over tp.
// RUN: sed 's/, tpsp.frozen//' %s > %t.mlir
// RUN: tpsp-run %t.mlir --grad --verify | FileCheck %s --check-prefix=ALL
// ALL: all_reduce tp {{.*}} g[x]
// ALL: g[w]

tpsp.mesh @mesh <tp = 4 : model, dp = 1 : data>
!x = tensor<12x48xf32, #tpsp.idx<b@dp, d>>
!z = tensor<12x64xf32, #tpsp.idx<b@dp, e@tp>>
!w = tensor<64x48xf32, #tpsp.idx<e@tp, d>>
!up = tensor<64x8xf32, #tpsp.idx<e@tp, r>>
!down = tensor<8x48xf32, #tpsp.idx<r, d>>
!low = tensor<12x8xf32, #tpsp.idx<b@dp, r>>
func.func @adapted(%x: !x {tpsp.name = "x", tpsp.frozen},
                   %w: !w {tpsp.param = "w", tpsp.frozen},
                   %down: !down {tpsp.param = "down"},
                   %up: !up {tpsp.param = "up"}) -> !z {
  %a = tpsp.einsum %w, %x : (!w, !x) -> !z
  %l = tpsp.einsum %down, %x : (!down, !x) -> !low
  %u = tpsp.einsum %up, %l : (!up, !low) -> !z
  %z = tpsp.add %a, %u : !z
  return %z : !z
}
