// Attention whose samples have lengths: a query sees only the first keys, as
// many as its sample's length. Results and gradients are the same in one call,
// block by block and written out, with the batch, heads or the sequence
// divided, by all ranks or by some. In f64 they are the same to far more than
// 1e-5; f32 and 16 bits round.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: mkdir -p %t/in

// Lengths of none, one and all keys, and others.
// RUN: python3 %t/lengths.py %t/in 13
// DEFINE: %{file} = batch
// DEFINE: %{run} = tpsp-run %t/%{file}.mlir --grad --verify --quiet --inputs %t/in/n.npy --inputs %t/in/nh.npy --attention
// RUN: %{run} fused
// RUN: %{run} rows
// RUN: %{run} fused --mesh dp=3,tp=1
// RUN: %{run} rows --mesh dp=1,tp=2
// RUN: %{run} fused --mesh dp=6,tp=1 --micro-batches 1 --rematerialize full
// Blocks have all but a bias.
// DEFINE: %{unbiased} = sed 's/%%v, %%bias/%%v/; s/, !bias\([,)]\)/\1/'
// RUN: %{unbiased} %t/batch.mlir > %t/unbiased.mlir
// REDEFINE: %{file} = unbiased
// RUN: %{run} blocks --attention-block 3
// RUN: %{run} blocks --mesh dp=2,tp=1 --micro-batches 3
// RUN: tpsp-run %t/batch.mlir --attention fused --backend trace | FileCheck %s
// CHECK: rank 0 {{.*}}attention b=2 h=1 g=3 s=13 t=13 {{.*}} bias segments lengths f64
// RUN: sed 's/f64/f32/g' %t/batch.mlir > %t/f32.mlir
// REDEFINE: %{file} = f32
// RUN: %{run} fused
// RUN: %{run} rows
// RUN: %{run} fused --dtype bf16 --threads 2
// RUN: %{unbiased} %t/f32.mlir > %t/f32-unbiased.mlir
// REDEFINE: %{file} = f32-unbiased
// RUN: %{run} blocks --attention-block 4
// RUN: %{run} blocks --dtype f16

// The sequence divided: a ring, whose blocks know where their keys begin; and
// causal rows, balanced or not.
// RUN: python3 %t/lengths.py %t/in 24
// REDEFINE: %{file} = sequence
// RUN: %{run} fused --balance-attention off
// RUN: %{run} fused --balance-attention on
// RUN: %{run} blocks --attention-block 4
// RUN: %{run} rows
// RUN: %{run} fused --mesh cp=3
// RUN: %{run} blocks --mesh cp=3
// RUN: %{run} blocks --mesh cp=3 --overlap on --hardware h100-sxm
// RUN: %{run} rows --mesh cp=3
// RUN: %{run} fused --mesh cp=6 --balance-attention on
// RUN: sed 's/f64/f32/g' %t/sequence.mlir > %t/f32.mlir
// REDEFINE: %{file} = f32
// RUN: %{run} blocks --mesh cp=3
// RUN: %{run} fused --mesh cp=2

// A call of a GPU has lengths of samples, but none of heads.
// RUN: sed 's/f64/bf16/g; s/x5xbf16/x8xbf16/' %t/sequence.mlir | tpsp-opt --tpsp-pipeline="grad attention=fused device=cuda" --remarks-filter-missed='tpsp-.*' --remark-policy=all 2>&1 | FileCheck %s --check-prefix=GPU
// GPU: cuDNN has no such attention: its segments or lengths differ between heads
// GPU: plan.attention %
// GPU: plan.attention_gradient

// Padded keys are after all lengths, so the call stays.
// REDEFINE: %{file} = sequence
// RUN: %{run} fused --mesh cp=5 --pad s=5,t=5
// RUN: %{run} blocks --mesh cp=5 --pad s=5,t=5
// RUN: %{run} rows --mesh cp=5 --pad s=5,t=5
// RUN: tpsp-run %t/sequence.mlir --mesh cp=5 --pad s=5,t=5 --attention fused --backend trace | FileCheck %s --check-prefix=PADDED --implicit-check-not=" matmul "
// PADDED: attention b=6 h=2 g=1 s=5 t=25 {{.*}} lengths f64
// PADDED: attention b=6 h=2 g=1 s=5 t=25 {{.*}} lengths f64

// With dropout of weights, in a training step by its number.
// RUN: python3 %t/lengths.py %t/in 13
// DEFINE: %{drop} = tpsp-run %t/dropped.mlir --grad --verify --quiet --inputs %t/in/n.npy
// RUN: %{drop} --attention rows --optimizer sgd --steps 3
// RUN: %{drop} --attention rows --micro-batches 3
// RUN: %{drop} --attention blocks --attention-block 5
// RUN: %{drop} --attention blocks --optimizer adamw --steps 2 --dtype f16

// Without a file they are drawn, none beyond all keys. Others are refused.
// RUN: tpsp-run %t/batch.mlir --quiet --verify
// RUN: python3 %t/lengths.py %t/in 14
// RUN: not tpsp-run %t/batch.mlir --quiet --inputs %t/in/n.npy 2>&1 | FileCheck %s --check-prefix=BEYOND
// BEYOND: element 2 of 'n' is 14, and its integers are from 0 to 13

//--- lengths.py
import struct, sys
folder, most = sys.argv[1], int(sys.argv[2])
def save(name, shape, numbers):
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(f"{folder}/{name}.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + struct.pack(f"<{len(numbers)}i", *numbers))
save("n", (6,), [0, 1, most, most - 1, 5, most // 2])
save("nh", (6, 2), [most, 7, 0, 2, 1, most, 3, 0, most - 1, most, 0, 0])

//--- batch.mlir
tpsp.mesh @mesh <dp = 3 : data, tp = 2 : model>
!q = tensor<6x13x2x3x5xf64, #tpsp.idx<b@dp, s, g@tp, r, k>>
!k = tensor<6x13x2x5xf64, #tpsp.idx<b@dp, t, g@tp, k>>
!v = tensor<6x13x2x7xf64, #tpsp.idx<b@dp, t, g@tp, w>>
!o = tensor<6x13x2x3x7xf64, #tpsp.idx<b@dp, s, g@tp, r, w>>
!bias = tensor<2x13x13xf64, #tpsp.idx<g@tp, s, t>>
!is = tensor<6x13xi32, #tpsp.idx<b@dp, s>>
!it = tensor<6x13xi32, #tpsp.idx<b@dp, t>>
!n = tensor<6xi32, #tpsp.idx<b@dp>>
!nh = tensor<6x2xi32, #tpsp.idx<b@dp, g@tp>>
func.func @f(%q: !q, %k: !k, %v: !v, %bias: !bias {tpsp.param},
             %is: !is {tpsp.below = 2}, %it: !it {tpsp.below = 2},
             %n: !n {tpsp.name = "n"}, %nh: !nh {tpsp.name = "nh"}) -> (!o, !o, !o, !o) {
  %all = tpsp.attention %q, %k, %v, %bias, %is, %it, %n {query = "s", key = "t",
           feature = "k", scale = 0.7, softcap = 1.5, causal, window = 4}
       : (!q, !k, !v, !bias, !is, !it, !n) -> !o
  %plain = tpsp.attention %q, %k, %v, %n {query = "s", key = "t",
             feature = "k"} : (!q, !k, !v, !n) -> !o
  %causal = tpsp.attention %q, %k, %v, %nh {query = "s", key = "t", feature = "k",
              scale = 0.7, causal} : (!q, !k, !v, !nh) -> !o
  %biased = tpsp.attention %q, %k, %v, %bias, %nh {query = "s", key = "t",
              feature = "k"} : (!q, !k, !v, !bias, !nh) -> !o
  return %all, %plain, %causal, %biased : !o, !o, !o, !o
}

//--- sequence.mlir
tpsp.mesh @mesh <cp = 2>
!q = tensor<6x24x2x5xf64, #tpsp.idx<b, s@cp, h, k>>
!k = tensor<6x24x2x5xf64, #tpsp.idx<b, t@cp, h, k>>
!n = tensor<6xi32, #tpsp.idx<b>>
!nh = tensor<6x2xi32, #tpsp.idx<b, h>>
func.func @f(%q: !q, %k: !k, %v: !k, %n: !n {tpsp.name = "n"},
             %nh: !nh {tpsp.name = "nh"}) -> (!q, !q) {
  %causal = tpsp.attention %q, %k, %v, %n {query = "s", key = "t",
              feature = "k", scale = 0.7, softcap = 1.5, causal}
          : (!q, !k, !k, !n) -> !q
  %whole = tpsp.attention %q, %k, %v, %nh {query = "s", key = "t",
             feature = "k", scale = 0.7} : (!q, !k, !k, !nh) -> !q
  return %causal, %whole : !q, !q
}

//--- dropped.mlir
tpsp.mesh @mesh <dp = 2 : data, tp = 2 : model>
!q = tensor<6x13x2x5xf32, #tpsp.idx<b@dp, s, h@tp, k>>
!k = tensor<6x13x2x5xf32, #tpsp.idx<b@dp, t, h@tp, k>>
!w = tensor<2x5xf32, #tpsp.idx<h@tp, k>>
!is = tensor<6x13xi32, #tpsp.idx<b@dp, s>>
!it = tensor<6x13xi32, #tpsp.idx<b@dp, t>>
!n = tensor<6xi32, #tpsp.idx<b@dp>>
!l = tensor<f32, #tpsp.idx<>>
func.func @f(%q: !q, %k: !k, %v: !k, %w: !w {tpsp.param}, %is: !is {tpsp.below = 2},
             %it: !it {tpsp.below = 2}, %n: !n {tpsp.name = "n"}) -> !l {
  %p = tpsp.mul %q, %w : (!q, !w) -> !q
  %0 = tpsp.attention %p, %k, %v, %n {query = "s", key = "t", feature = "k",
         dropout = 0.3, seed = 7, causal} : (!q, !k, !k, !n) -> !q
  %1 = tpsp.attention %p, %k, %v, %is, %it, %n {query = "s", key = "t", feature = "k",
         dropout = 0.2, seed = 9} : (!q, !k, !k, !is, !it, !n) -> !q
  %2 = tpsp.mul %0, %1 : !q
  %3 = tpsp.reduce %2 : !q -> !l
  return %3 : !l
}
