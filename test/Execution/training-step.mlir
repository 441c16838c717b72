// A whole step, with its update, equals the unsharded one in f64: parameters,
// state, norm, and the results of the next step.
// REQUIRES: tpsp-run
// DEFINE: %{run} = tpsp-run %s --grad --quiet --verify --steps 2
// RUN: %{run} --optimizer adamw --clip 0.1
// RUN: %{run} --optimizer adamw --clip 0.1 --optimizer-axes dp
// RUN: %{run} --optimizer adamw --clip 0.1 --optimizer-axes dp,tp --overlap on --hardware h100-sxm
// RUN: %if nightly %{ %{run} --optimizer sgd --clip 0.1 --optimizer-axes dp --overlap on --hardware h100-sxm %}
// RUN: %if nightly %{ %{run} --optimizer sgd --optimizer-settings nesterov=1,decay=0.1 --mesh dp=1,tp=4 %}
// RUN: %{run} --optimizer adamw --clip 100 --micro-batches 2 --optimizer-axes dp
// RUN: %{run} --optimizer adamw --dtype bf16 --optimizer-axes dp --bucket-layers on
// RUN: %if nightly %{ %{run} --optimizer adamw --dtype f64 --optimizer-axes dp --mesh dp=4,tp=1 %}
// RUN: %if nightly %{ %{run} --optimizer adamw --mesh dp=1,tp=1 %}
// RUN: %{run} --optimizer lion --clip 0.1 --optimizer-axes dp
// RUN: %{run} --optimizer muon --clip 0.1
// RUN: %{run} --optimizer muon --clip 0.1 --optimizer-axes dp,tp --overlap on --hardware h100-sxm
// RUN: %if nightly %{ %{run} --optimizer muon --dtype bf16 --optimizer-axes dp %}
// RUN: %if nightly %{ %{run} --optimizer muon --optimizer-settings nesterov=0,rms=0,epsilon=1e-7 --mesh dp=4,tp=1 --optimizer-axes dp %}
// RUN: sed 's/tpsp.param = "w0"/tpsp.param = "w0", tpsp.optimizer = "sgd", tpsp.learning_rate = 0.5/' %s > %t.own.mlir
// RUN: tpsp-run %t.own.mlir --grad --quiet --verify --steps 2 --optimizer adamw --optimizer-axes dp
// A parameter that is returned as it was.
// RUN: sed 's/-> !l {/-> (!l, !g) {/; s/return %%m : !l/return %%m, %%g : !l, !g/' %s > %t.returned.mlir
// RUN: tpsp-run %t.returned.mlir --grad --quiet --verify --optimizer adamw

// RUN: tpsp-run %examples/tp-sp-fsdp.mlir --grad --quiet --verify --optimizer adamw --clip 1
// RUN: tpsp-run %examples/moe-ep.mlir --grad --quiet --verify --optimizer adamw --clip 1 --steps 2
// RUN: tpsp-run %examples/vocab-parallel.mlir --grad --quiet --verify --optimizer adamw --clip 1
// A matrix for each expert; heads with several indices.
// RUN: %if nightly %{ tpsp-run %examples/moe-ep.mlir --grad --quiet --verify --optimizer muon --clip 1 %}
// RUN: %if nightly %{ tpsp-run %examples/tp-sp-fsdp.mlir --grad --quiet --verify --optimizer muon --optimizer-axes fsdp %}
// RUN: tpsp-run %examples/cp-attention.mlir --grad --quiet --verify --optimizer sgd --clip 1 --optimizer-axes cp

// A compiled plan knows the update.
// RUN: tpsp-run %s --grad --optimizer adamw --clip 0.1 --optimizer-axes dp --emit %t.so
// RUN: tpsp-run %t.so --verify --quiet --steps 3

// By formulas in a script that shares no code.
// RUN: python3 %S/Inputs/check-update.py inputs %t.in.safetensors
// RUN: tpsp-run %s --grad --quiet --inputs %t.in.safetensors --save-all %t.grad.safetensors
// RUN: tpsp-run %s --grad --quiet --inputs %t.in.safetensors --inputs %t.state.safetensors --optimizer adamw --clip 0.1 --optimizer-axes dp --save-all %t.adamw.safetensors
// RUN: python3 %S/Inputs/check-update.py adamw %t.in.safetensors %t.state.safetensors %t.grad.safetensors %t.adamw.safetensors
// The second of two steps has the next number, as if it were run by itself.
// RUN: python3 %S/Inputs/check-update.py next %t.in.safetensors %t.state.safetensors %t.adamw.safetensors %t.next.safetensors
// RUN: tpsp-run %s --grad --quiet --inputs %t.next.safetensors --optimizer adamw --clip 0.1 --optimizer-axes dp --save-all %t.second.safetensors
// RUN: tpsp-run %s --grad --quiet --inputs %t.in.safetensors --inputs %t.state.safetensors --optimizer adamw --clip 0.1 --optimizer-axes dp --steps 2 --verify --save-all %t.two.safetensors
// RUN: python3 %S/Inputs/check-update.py same %t.second.safetensors %t.two.safetensors
// The update is the master's, and not that of the parameter.
// RUN: tpsp-run %s --grad --quiet --inputs %t.state.safetensors --inputs %t.masters.safetensors --optimizer adamw --dtype bf16 --optimizer-axes dp --verify --save-all %t.mastered.safetensors
// RUN: python3 %S/Inputs/check-update.py masters %t.masters.safetensors %t.mastered.safetensors
// An epsilon that shows on which side of the root it is.
// RUN: tpsp-run %s --grad --quiet --inputs %t.in.safetensors --inputs %t.state.safetensors --optimizer adamw --optimizer-settings epsilon=0.1 --clip 0.1 --save-all %t.epsilon.safetensors
// RUN: python3 %S/Inputs/check-update.py adamw %t.in.safetensors %t.state.safetensors %t.grad.safetensors %t.epsilon.safetensors 0.1
// RUN: tpsp-run %s --grad --quiet --inputs %t.in.safetensors --inputs %t.momentum.safetensors --optimizer sgd --optimizer-settings nesterov=1,decay=0.01 --save-all %t.sgd.safetensors
// RUN: python3 %S/Inputs/check-update.py sgd %t.in.safetensors %t.momentum.safetensors %t.grad.safetensors %t.sgd.safetensors
// RUN: tpsp-run %s --grad --quiet --inputs %t.in.safetensors --inputs %t.momentum.safetensors --optimizer lion --optimizer-axes tp --save-all %t.lion.safetensors
// RUN: tpsp-run %s --grad --quiet --inputs %t.in.safetensors --inputs %t.muon.safetensors --optimizer muon --optimizer-axes dp --save-all %t.muon-after.safetensors
// RUN: python3 %S/Inputs/check-update.py muon %t.in.safetensors %t.muon.safetensors %t.grad.safetensors %t.muon-after.safetensors
// RUN: python3 %S/Inputs/check-update.py lion %t.in.safetensors %t.momentum.safetensors %t.grad.safetensors %t.lion.safetensors

tpsp.mesh @mesh <dp = 2 : data, tp = 2 : model>
!x  = tensor<4x8x16xf32, #tpsp.idx<b@dp, s, d>>
!y  = tensor<4x8x32xf32, #tpsp.idx<b, s, e, ?>>
!x_ = tensor<4x8x16xf32, #tpsp.idx<b, s, d, ?>>
!w0 = tensor<32x16xf32, #tpsp.idx<e@tp, d>>
!w1 = tensor<16x32xf32, #tpsp.idx<d, e@tp>>
!g = tensor<16xf32, #tpsp.idx<d>>
!l = tensor<f32, #tpsp.idx<>>
func.func @mlp(%x: !x {tpsp.name = "x"}, %g: !g {tpsp.param = "gain"},
               %w0: !w0 {tpsp.param = "w0"}, %w1: !w1 {tpsp.param = "w1"}) -> !l {
  %n = tpsp.rms_norm %x, %g : (!x, !g) -> !x_
  %y = tpsp.einsum %w0, %n : (!w0, !x_) -> !y
  %v = tpsp.gelu %y : !y
  %z = tpsp.einsum %w1, %v : (!w1, !y) -> !x_
  %q = tpsp.square %z : !x_
  %r = tpsp.reduce %q : (!x_) -> !l
  %m = tpsp.scale %r {factor = 0.01 : f64} : !l -> !l
  return %m : !l
}
