// A step whose gradients overflow is skipped with a fixed loss scale, too. The
// parameter, its master and its state are unchanged and finite.
// REQUIRES: tpsp-run
// RUN: python3 %S/Inputs/values.py write %t.w.npy 0.5 0.25 -0.5 1 0.5 0.25 -0.5 1
// RUN: python3 %S/Inputs/values.py write %t.100.npy 100 100 100 100 100 100 100 100
// RUN: python3 %S/Inputs/values.py write %t.large.npy 1 1 1 1 1 1e35 1 1
// DEFINE: %{run} = tpsp-run %s --grad --quiet --loss-scale 32768 --inputs w=%t.w.npy --save-all %t.safetensors --function
// DEFINE: %{name} = f
// DEFINE: %{f16} = %{run} %{name} --dtype f16 --inputs x=%t.100.npy
// DEFINE: %{large} = %{run} %{name} --inputs x=%t.large.npy
// DEFINE: %{check} = python3 %S/Inputs/values.py check %t.safetensors norm=inf updates=0 w=0.5,0.25,-0.5,1,0.5,0.25,-0.5,1
// DEFINE: %{sgd} = %{check} "momentum[w]=finite"
// DEFINE: %{adamw} = %{check} "mean[w]=finite" "square[w]=finite"
// DEFINE: %{master} = "master[w]=finite"

// RUN: %{f16} --optimizer sgd --mesh dp=1 && %{sgd} %{master}
// RUN: %{f16} --optimizer sgd --mesh dp=2 && %{sgd} %{master}
// RUN: %{f16} --optimizer adamw --mesh dp=1 && %{adamw} %{master}
// RUN: %{f16} --optimizer adamw --mesh dp=2 --clip 1 && %{adamw} %{master}
// RUN: %{f16} --optimizer adamw --mesh dp=2 --optimizer-axes dp && %{adamw} %{master}
// RUN: %{f16} --optimizer adamw --mesh dp=2 --micro-batches 2 && %{adamw} %{master}
// One element, on one of the ranks.
// RUN: %{large} --optimizer sgd --mesh dp=1 && %{sgd}
// RUN: %{large} --optimizer sgd --mesh dp=2 --clip 1 && %{sgd}
// RUN: %{large} --optimizer adamw --mesh dp=1 --dtype bf16 && %{adamw} %{master}
// RUN: %{large} --optimizer sgd --mesh dp=2 --dtype bf16 --clip 1 && %{sgd} %{master}

// A parameter in parts.
// REDEFINE: %{name} = sharded
// RUN: %{f16} --optimizer sgd --mesh dp=2 && %{sgd} %{master}
// RUN: %{large} --optimizer adamw --mesh dp=2 && %{adamw}

// A step without overflow is done.
// RUN: tpsp-run %s --function f --grad --quiet --loss-scale 1024 --optimizer sgd --dtype f16 --mesh dp=2 --save-all %t.safetensors
// RUN: python3 %S/Inputs/values.py check %t.safetensors updates=1 w=finite norm=finite

tpsp.program <d = 8, b = 4> {
mesh @mesh <dp = 1 : data>
func @f(%x: [d] {tpsp.frozen}, %t: [b@dp] {tpsp.frozen, tpsp.mean = 1.0, tpsp.deviation = 0.0}, param %w: [d]) -> ([] {tpsp.name = "loss"}) {
  %y = mul %w, %x
  %z = mul %y, %t -> [b@dp, d]
  %m = mean %z -> []
  return %m
}
func @sharded(%x: [d@dp] {tpsp.frozen}, param %w: [d@dp]) -> ([] {tpsp.name = "loss"}) {
  %y = mul %w, %x
  %m = mean %y -> []
  return %m
}
}
