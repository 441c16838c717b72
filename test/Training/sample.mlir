// Text from a trained model: the data's pattern comes back, whatever the mesh.
// RUN: rm -rf %t && split-file %s %t
// RUN: tpsp-train %t/m.mlir --data %t/data.txt --steps 60 --lr 3e-2 --schedule constant --clip 0 --seed 3 --quiet --out %t/run
// DEFINE: %{sample} = tpsp-train %t/m.mlir --resume %t/run --quiet
// RUN: %{sample} --sample "abc" --sample-count 12 | FileCheck %s --check-prefix=TEXT
// RUN: %{sample} --sample "abc" --sample-count 12 --mesh dp=2,tp=2 | FileCheck %s --check-prefix=TEXT
// RUN: %{sample} --sample "abc" --sample-count 12 --batch 4 | FileCheck %s --check-prefix=TEXT
// TEXT: {{^}}abcdeabcdeabcde{{$}}

// The parameters alone are enough. Token 97 is "a".
// RUN: tpsp-train %t/m.mlir --weights %t/run/step-00000060/parameters.safetensors --quiet --sample-tokens 97,98 --sample-count 4 | FileCheck %s --check-prefix=TOKENS
// TOKENS: {{^}}97,98,99,100,101,97{{$}}

// A temperature draws by the seed: always the same for one, others for another.
// RUN: %{sample} --sample "abc" --temperature 8 --sample-count 20 --seed 1 > %t/one
// RUN: %{sample} --sample "abc" --temperature 8 --sample-count 20 --seed 1 --mesh tp=2 > %t/again
// RUN: %{sample} --sample "abc" --temperature 8 --sample-count 20 --seed 2 > %t/other
// RUN: cmp %t/one %t/again
// RUN: not cmp -s %t/one %t/other
// RUN: %{sample} --sample "abc" --temperature 0.01 --seed 5 --sample-count 12 | FileCheck %s --check-prefix=TEXT

// A plan has the program's own result of this name.
// RUN: tpsp-run %t/named.mlir --emit %t/named.so
// RUN: tpsp-train %t/named.so --resume %t/run --quiet --sample "abc" --sample-count 12 | FileCheck %s --check-prefix=TEXT
// RUN: tpsp-run %t/m.mlir --emit %t/unnamed.so

// Refusals.
// DEFINE: %{refused} = %S/../Tools/Inputs/exits 1 tpsp-train
// RUN: %{refused} %t/unnamed.so --resume %t/run --sample a 2>&1 | FileCheck %s --check-prefix=RESULT
// RESULT: tpsp-train: the plan has no result 'logits'; compile a model that returns them by this name, without --grad
// RUN: sed 's/, causal//' %t/m.mlir > %t/both.mlir
// RUN: %{refused} %t/both.mlir --resume %t/run --sample abc --sample-count 1 2>&1 | FileCheck %s --check-prefix=CAUSAL
// CAUSAL: tpsp-train: the logits of a token change by {{.*}} with the tokens after it, so the model cannot continue a text; something in it looks ahead, such as attention without 'causal'
// RUN: %{refused} %t/m.mlir --resume %t/run --sample-tokens 97,128 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: tpsp-train: token 1 is 128, and the model takes tokens below 128
// RUN: %{refused} %t/m.mlir --resume %t/run --sample-tokens 97,b 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: tpsp-train: --sample-tokens has 'b', which is no token; write numbers
// RUN: %{refused} %t/bare.mlir --resume %t/run --sample a 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: @m has no cross_entropy, so its logits are not known; return them under that name
// RUN: %{refused} %t/wide.mlir --weights %t/run/step-00000060/parameters.safetensors --sample a 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: 'table'
// DEFINE: %{usage} = %S/../Tools/Inputs/exits 2 tpsp-train %t/m.mlir
// RUN: %{usage} --sample a 2>&1 | FileCheck %s --check-prefix=TRAINED
// TRAINED: --sample needs a trained model: --resume RUN, or --weights FILE.safetensors
// RUN: %{usage} --sample a --sample-tokens 1 --resume %t/run 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: --sample and --sample-tokens both say what the text begins with; give one
// RUN: %{usage} --sample a --resume %t/run --data %t/data.txt 2>&1 | FileCheck %s --check-prefix=TRAINS
// TRAINS: --data is about training, and --sample does not train
// RUN: %{usage} --temperature 1 --data %t/data.txt 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: --temperature goes with --sample or --sample-tokens

//--- m.mlir
tpsp.program <b = 8, s = 8, t = s, d = 16, h = 2, k = 8, v = 128> {
mesh @mesh <dp = 1 : data, tp = 1 : model>
func @m(%tokens: i32[b@dp, s] {tpsp.data = "tokens"}, %targets: i32[b@dp, s] {tpsp.data = "next_tokens"},
    param %table: [v@tp, d], param %wq, %wk, %wv: [h@tp, k, d], param %wo: [d, h@tp, k], param %head: [v@tp, d]) -> [] {
  %x = embedding %tokens, %table {vocabulary = "v"}
  %q = einsum %wq, %x -> [b, s, h, k, ?]
  %k0 = einsum %wk, %x -> [b, s, h, k, ?]
  %k = rename %k0 -> [b, t, h, k, ?]
  %v0 = einsum %wv, %x -> [b, s, h, k, ?]
  %v = rename %v0 -> [b, t, h, k, ?]
  %o = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.3, causal}
  %a = einsum %wo, %o -> [b, s, d, ?]
  %y = add %x, %a
  %logits = einsum %head, %y -> [b, s, v, ?]
  %each = cross_entropy %logits, %targets {over = "v"}
  %loss = mean %each -> []
  return %loss
}
}

//--- named.mlir
tpsp.program <b = 2, s = 8, t = s, d = 16, h = 2, k = 8, v = 128> {
mesh @mesh <dp = 1 : data, tp = 1 : model>
func @m(%tokens: i32[b@dp, s] {tpsp.data = "tokens"}, param %table: [v@tp, d], param %wq, %wk, %wv: [h@tp, k, d],
    param %wo: [d, h@tp, k], param %head: [v@tp, d]) -> ([b, s, v] {tpsp.name = "logits"}) {
  %x = embedding %tokens, %table {vocabulary = "v"}
  %q = einsum %wq, %x -> [b, s, h, k, ?]
  %k0 = einsum %wk, %x -> [b, s, h, k, ?]
  %k = rename %k0 -> [b, t, h, k, ?]
  %v0 = einsum %wv, %x -> [b, s, h, k, ?]
  %v = rename %v0 -> [b, t, h, k, ?]
  %o = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.3, causal}
  %a = einsum %wo, %o -> [b, s, d, ?]
  %y = add %x, %a
  %logits = einsum %head, %y -> [b, s, v]
  return %logits
}
}

//--- bare.mlir
tpsp.program <b = 2, s = 8, d = 16, v = 128> {
func @m(%tokens: i32[b, s] {tpsp.data = "tokens"}, param %table, %head: [v, d]) -> [b, s, v] {
  %x = embedding %tokens, %table {vocabulary = "v"}
  %z = einsum %head, %x -> [b, s, v]
  return %z
}
}

//--- wide.mlir
tpsp.program <b = 2, s = 8, d = 16, v = 300> {
func @m(%tokens: i32[b, s] {tpsp.data = "tokens"}, param %table, %head: [v, d]) -> ([b, s, v] {tpsp.name = "logits"}) {
  %x = embedding %tokens, %table {vocabulary = "v"}
  %z = einsum %head, %x -> [b, s, v]
  return %z
}
}

//--- data.txt
abcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcde
