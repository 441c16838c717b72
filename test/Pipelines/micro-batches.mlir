// Each weight's gradient is reduced once per step, not once per micro-batch, and
// every part is done like the whole. openxla/xla#49143 and
// AI-Hypercomputer/maxtext#5099 report the opposite.
// DEFINE: %{parts} =
// DEFINE: %{grad} = --tpsp-collective-pipeline="grad=true micro-batches=%{parts} overlap=on"

// One bucket with all gradients, whatever the number of parts.
// REDEFINE: %{parts} = 1
// RUN: tpsp-opt %s %{grad} | FileCheck %s --check-prefix=DDP %no_other
// REDEFINE: %{parts} = 2
// RUN: tpsp-opt %s %{grad} | FileCheck %s --check-prefix=DDP %no_other
// REDEFINE: %{parts} = 4
// RUN: tpsp-opt %s %{grad} | FileCheck %s --check-prefix=DDP %no_other
// DDP-LABEL: @mlp_grad
// DDP: tpsp.all_reduce %{{[^ ]+}}, %{{[^ ]+}}, %{{[^ ]+}} ["dp"]
// DDP-SAME: tpsp.origin = #tpsp.origin<backward

// With context parallelism, over both axes at once.
// RUN: sed 's/b@dp, s/b@dp, s@cp/; s/dp = 2/dp = 2, cp = 2/' %s | tpsp-opt %{grad} | FileCheck %s --check-prefix=CP %no_other
// CP-LABEL: @mlp_grad
// CP: tpsp.all_reduce %{{[^ ]+}}, %{{[^ ]+}}, %{{[^ ]+}} ["dp", "cp"]

// FSDP gathers for every part, as it does for the backward pass (decision
// 0004), and scatters each gradient once.
// REDEFINE: %{parts} = 2
// RUN: sed 's/idx<e, d>/idx<e@dp, d>/; s/idx<d, e>/idx<d@dp, e>/' %s | tpsp-opt %{grad} | FileCheck %s --check-prefix=FSDP --implicit-check-not=reduce_scatter --implicit-check-not=all_reduce
// FSDP-LABEL: @mlp_grad
// FSDP-COUNT-4: all_gather {{.*}}part = 0
// FSDP-COUNT-2: all_gather {{.*}}part = 1
// FSDP: reduce_scatter {{.*}}tensor = "g[v]"
// FSDP: all_gather {{.*}}tensor = "v", tpsp.origin = #tpsp.origin<backward, part = 1>
// FSDP: reduce_scatter {{.*}}tensor = "g[w]"
// FSDP: all_gather {{.*}}tensor = "w", tpsp.origin = #tpsp.origin<backward, part = 1>
// FSDP: all_reduce {{.*}}tensor = "g[gain]"

// TP+SP moves for each part as much as without parts.
// RUN: tpsp-opt %examples/mlp-sp.mlir %{grad} | FileCheck %s --check-prefix=SP %no_other
// SP-LABEL: func.func @mlp(
// SP: all_gather {{.*}}part = 0
// SP: reduce_scatter {{.*}}part = 0
// SP: all_gather {{.*}}part = 1
// SP: reduce_scatter {{.*}}part = 1
// SP-LABEL: func.func @mlp_grad(
// SP: all_gather {{.*}}part = 0
// SP: reduce_scatter {{.*}}part = 0
// SP: all_gather {{.*}}origin<backward, part = 0>
// SP: all_gather {{.*}}origin<backward, part = 0>
// SP: reduce_scatter {{.*}}origin<backward, part = 0>
// SP: all_gather {{.*}}part = 1
// SP: reduce_scatter {{.*}}part = 1
// SP: all_gather {{.*}}origin<backward, part = 1>
// SP: all_gather {{.*}}origin<backward, part = 1>
// SP: reduce_scatter {{.*}}origin<backward, part = 1>

tpsp.mesh @mesh <dp = 2 : data>

!x = tensor<8x8x16xf32, #tpsp.idx<b@dp, s, d>>
!y = tensor<8x8x32xf32, #tpsp.idx<b, s, e, ?>>
!x_ = tensor<8x8x16xf32, #tpsp.idx<b, s, d, ?>>
!w = tensor<32x16xf32, #tpsp.idx<e, d>>
!v = tensor<16x32xf32, #tpsp.idx<d, e>>
!g = tensor<16xf32, #tpsp.idx<d>>

func.func @mlp(%x: !x {tpsp.name = "x"}, %gain: !g {tpsp.param = "gain"}, %w: !w {tpsp.param = "w"},
               %v: !v {tpsp.param = "v"}) -> !x {
  %n = tpsp.rms_norm %x, %gain : (!x, !g) -> !x_
  %y = tpsp.einsum %w, %n : (!w, !x_) -> !y
  %a = tpsp.gelu %y : !y
  %z = tpsp.einsum %v, %a : (!v, !y) -> !x
  return %z : !x
}
