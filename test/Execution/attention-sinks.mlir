// Attention whose softmax has a learned logit of each head. Results and gradients
// equal those of a script's plain loops, in which the sink is one more column of
// scores: in rows, in blocks and in one call, on one rank, with heads divided and
// with the sequence divided. In f64 they do to 1e-12. A row that sees no key is
// zeros, and passes no gradient on.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: mkdir -p %t/in

// DEFINE: %{file} = plain
// DEFINE: %{extra} =
// DEFINE: %{inputs} =
// DEFINE: %{causal} =
// DEFINE: %{tolerance} = 2e-6
// DEFINE: %{check} = python3 %S/Inputs/hidden-keys.py check %t/all.safetensors 0.5 %{causal} %{tolerance} | FileCheck %s
// DEFINE: %{run} = tpsp-run %t/%{file}.mlir --grad --verify --quiet %{inputs} --save-all %t/all.safetensors %{extra} --attention
// CHECK: o g[q] g[k] g[v] {{.*}}g[sink] are right

// RUN: python3 %S/Inputs/hidden-keys.py make %t/in -1e30
// RUN: %{run} rows && %{check}
// RUN: %{run} fused && %{check}
// RUN: %{run} blocks --attention-block 3 && %{check}
// RUN: %{run} rows --mesh dp=2,cp=2,tp=2 && %{check}
// RUN: %{run} fused --mesh dp=2,cp=2,tp=2 && %{check}
// RUN: %{run} blocks --mesh dp=1,cp=4,tp=2 && %{check}
// REDEFINE: %{tolerance} = 1e-12
// RUN: sed 's/: \[/: f64[/g; s/-> \[/-> f64[/' %t/plain.mlir > %t/f64.mlir
// REDEFINE: %{file} = f64
// RUN: %{run} rows && %{check}
// RUN: %{run} fused --mesh dp=1,cp=2,tp=2 && %{check}
// RUN: %{run} blocks --mesh dp=1,cp=2,tp=2 && %{check}
// REDEFINE: %{causal} = causal
// RUN: sed 's/scale = 0.5/scale = 0.5, causal/' %t/f64.mlir > %t/causal.mlir
// REDEFINE: %{file} = causal
// RUN: %{run} rows --mesh dp=1,cp=4,tp=1 && %{check}
// RUN: %{run} fused --mesh dp=1,cp=4,tp=1 --balance-attention on && %{check}
// RUN: %{run} fused --mesh dp=2,cp=2,tp=1 --balance-attention off && %{check}
// RUN: %{run} blocks --mesh dp=1,cp=4,tp=1 && %{check}

// Segments, lengths and padding leave rows without any key. With a bias all
// forms but blocks, which refuse it, are rows.
// REDEFINE: %{tolerance} = 2e-6
// REDEFINE: %{file} = segments
// REDEFINE: %{inputs} = --inputs is=%t/in/is.npy --inputs it=%t/in/it.npy
// RUN: %{run} rows && %{check}
// RUN: %{run} fused --mesh dp=1,cp=2,tp=2 && %{check}
// RUN: %{run} blocks --attention-block 2 --mesh dp=1,cp=2,tp=1 && %{check}
// REDEFINE: %{file} = lengths
// REDEFINE: %{inputs} = --inputs n=%t/in/n.npy
// RUN: %{run} rows --mesh dp=1,cp=2,tp=1 && %{check}
// RUN: %{run} fused --mesh dp=1,cp=2,tp=2 && %{check}
// RUN: %{run} blocks --mesh dp=2,cp=2,tp=1 && %{check}
// REDEFINE: %{file} = padding
// REDEFINE: %{inputs} = --inputs padding=%t/in/padding.npy
// RUN: %{run} rows --mesh dp=1,cp=2,tp=2 && %{check}
// RUN: %{run} fused --mesh dp=1,cp=2,tp=2 && %{check}
// RUN: not %{run} blocks 2>&1 | FileCheck %s --check-prefix=BIASED
// BIASED: has a bias, which is not added in blocks of keys

//--- plain.mlir
tpsp.program <b = 4, s = 8, t = s, h = 2, k = 4> {
mesh @mesh <dp = 1 : data, cp = 1 : data, tp = 1 : model>
func @f(%q: [b@dp, s@cp, h@tp, k], %k, %v: [b@dp, t@cp, h@tp, k], param %sink: [h@tp]) -> [b@dp, s@cp, h@tp, k] {
  %o = attention %q, %k, %v, %sink {query = "s", key = "t", feature = "k", scale = 0.5}
  return %o
}
}
//--- segments.mlir
tpsp.program <b = 4, s = 8, t = s, h = 2, k = 4> {
mesh @mesh <dp = 1 : data, cp = 1 : data, tp = 1 : model>
func @f(%q: [b@dp, s@cp, h@tp, k], %k, %v: [b@dp, t@cp, h@tp, k], param %sink: [h@tp],
        %is: i32[b@dp, s@cp] {tpsp.below = 4}, %it: i32[b@dp, t@cp] {tpsp.below = 4}) -> [b@dp, s@cp, h@tp, k] {
  %o = attention %q, %k, %v, %sink, %is, %it {query = "s", key = "t", feature = "k", scale = 0.5, causal}
  return %o
}
}
//--- lengths.mlir
tpsp.program <b = 4, s = 8, t = s, h = 2, k = 4> {
mesh @mesh <dp = 1 : data, cp = 1 : data, tp = 1 : model>
func @f(%q: [b@dp, s@cp, h@tp, k], %k, %v: [b@dp, t@cp, h@tp, k], param %sink: [h@tp], %n: i32[b@dp]) -> [b@dp, s@cp, h@tp, k] {
  %o = attention %q, %k, %v, %sink, %n {query = "s", key = "t", feature = "k", scale = 0.5, causal}
  return %o
}
}
//--- padding.mlir
tpsp.program <b = 4, s = 8, t = s, h = 2, k = 4> {
mesh @mesh <dp = 1 : data, cp = 1 : data, tp = 1 : model>
func @f(%q: [b@dp, s@cp, h@tp, k], %k, %v: [b@dp, t@cp, h@tp, k], %padding: [b@dp, t], param %sink: [h@tp]) -> [b@dp, s@cp, h@tp, k] {
  %o = attention %q, %k, %v, %padding, %sink {query = "s", key = "t", feature = "k", scale = 0.5, causal}
  return %o
}
}
