// A small model whose heads, hidden index, vocabulary, batch, sequence and width
// no axis divides. Padded, it is the same model: losses, logits, gradients,
// updates and state are compared with the program without padding.
// REQUIRES: tpsp-run

// DEFINE: %{run} = tpsp-run %s --grad --verify --quiet
// RUN: %{run}
// RUN: %if nightly %{ %{run} --mesh tp=2 --pad g=2,e=2,v=2 %}
// RUN: %{run} --mesh tp=3 --pad g=3,e=3,v=3 --optimizer adamw --clip 1 --steps 3
// RUN: %{run} --mesh tp=4 --pad g=4,e=4,v=4 --optimizer muon --optimizer-axes tp --steps 2 --attention fused
// RUN: %{run} --mesh tp=5 --pad w=20,e=5,v=5 --dtype bf16 --optimizer lion --attention blocks
// RUN: %if nightly %{ %{run} --mesh tp=8 --pad g=8,e=8,v=8 --dtype f16 %}
// RUN: %{run} --mesh tp=2 --pad g=2,e=2,v=2,b=3,d=4,k=1,p=7 --optimizer adamw --rematerialize full --overlap on --hardware h100-sxm
// RUN: %if nightly %{ %{run} --mesh tp=2 --pad g=2,e=2,v=2,s=4,d=5 --optimizer muon --optimizer-axes tp %}

// The mesh of the file may divide nothing, if all of it is padded.
// RUN: sed 's/tp = 1/tp = 4/' %s > %t.mlir
// RUN: tpsp-run %t.mlir --grad --verify --quiet --pad g=4,e=4,v=4
// RUN: not tpsp-run %t.mlir --quiet 2>&1 | FileCheck %s --check-prefix=UNEVEN
// UNEVEN: error: {{.*}}index 'v' of {{.*}} has extent 11, which its axes (tp: 4 ranks) do not divide; nearest extents that work: 8 and 12; or pad it: --pad v=4
// RUN: not tpsp-run %t.mlir --quiet --pad g=4,e=4,v=5 2>&1 | FileCheck %s --check-prefix=STILL
// RUN: not tpsp-run %t.mlir --quiet --pad g=4,v=4 2>&1 | FileCheck %s --check-prefix=OTHER
// STILL: error: {{.*}}index 'v' of {{.*}} has extent 15, which its axes (tp: 4 ranks) do not divide
// OTHER: error: {{.*}}index 'e' of {{.*}} has extent 7, which its axes (tp: 4 ranks) do not divide

// Files have the extents of the program. Tensors saved on one mesh are loaded
// on another, padded otherwise or not at all, with the same bits.
// RUN: tpsp-run %s --quiet --seed 3 --save %t.st
// RUN: tpsp-run %s --quiet --seed 4 --weights %t.st --mesh tp=4 --pad g=4,e=4,v=4 --grad --verify --save %t.padded.st
// RUN: cmp %t.st %t.padded.st
// RUN: tpsp-run %s --quiet --seed 4 --weights %t.padded.st --mesh tp=3 --pad g=3,e=3,v=3 --grad --optimizer adamw --save %t.again.st --save-all %t.all.st
// RUN: head -c 1500 %t.again.st | FileCheck %s --check-prefix=SHAPES
// SHAPES-DAG: "wte":{"dtype":"F32","shape":[11,6]
// SHAPES-DAG: "wo":{"dtype":"F32","shape":[6,12]
// RUN: head -c 4000 %t.all.st | FileCheck %s --check-prefix=ALL
// ALL-DAG: "mean[w1]":{"dtype":"F32","shape":[7,6]
// ALL-DAG: "logits":{"dtype":"F32","shape":[2,5,11]

// A compiled plan and the report name the padded indices. The report's tensors
// have the extents of the program.
// RUN: tpsp-run %s --quiet --grad --mesh tp=4 --pad g=4,e=4,v=4 --emit %t.so
// RUN: tpsp-run %t.so --verify --weights %t.st --report %t.json | FileCheck %s --check-prefix=TEXT
// TEXT: Padded indices
// TEXT-NEXT: e                       7 to 8 (+14.29 %)
// TEXT-NEXT: g                       3 to 4 (+33.33 %)
// TEXT-NEXT: v                      11 to 12 (+9.09 %)
// TEXT-NEXT: w                      12 to 16 (+33.33 %)
// TEXT: Memory per rank
// TEXT: all within tolerance
// RUN: FileCheck %s --check-prefix=JSON --input-file %t.json
// JSON: "padded": [
// JSON: "index": "e",
// JSON-NEXT: "extent": 7,
// JSON-NEXT: "padded_extent": 8
// JSON: "name": "wte",
// JSON: "shape": [
// JSON-NEXT: 11,
// JSON-NEXT: 6
// RUN: not tpsp-run %t.so --pad v=4 2>&1 | FileCheck %s --check-prefix=COMPILED
// COMPILED: --pad

// Integers are below the extent of the program.
// RUN: python3 %S/../Tools/Inputs/write-npy.py %t.npy i4 2,5 11 12
// RUN: not tpsp-run %s --quiet --mesh tp=4 --pad g=4,e=4,v=4 --inputs tokens=%t.npy 2>&1 | FileCheck %s --check-prefix=BEYOND
// BEYOND: element 0 of 'tokens' is 11, and its integers are from 0 to 10
tpsp.program <b = 2, s = 5, t = s, d = 6, g = 3, k = 4, e = 7, v = 11, w = 12, p = 5> {
mesh @mesh <tp = 1 : model>
func @model(%tokens: i32[b, s], %targets: i32[b, s], %positions: i32[s], param %wte: [v@tp, d], param %wpe: [p, d],
   param %wq, %wk, %wv: [g@tp, k, d], param %bq: [g@tp, k], param %wo: [d, w@tp], param %gain, %bias: [d],
   param %w1: [e@tp, d], param %b1: [e@tp], param %w2, %w3: [d, e@tp], param %ge: [e@tp]) -> ([] {tpsp.name = "loss"}, [b, s, v@tp] {tpsp.name = "logits"}) {
  %e0 = embedding %tokens, %wte {vocabulary = "v"}
  %p0 = embedding %positions, %wpe {vocabulary = "p"}
  %x = add %e0, %p0
  %xn = layer_norm %x, %gain, %bias
  %q0 = einsum %wq, %xn -> [b, s, g, k, ?]
  %q = add %q0, %bq
  %k0 = einsum %wk, %xn -> [b, s, g, k, ?]
  %k = rename %k0 -> [b, t, g, k, ?]
  %v0 = einsum %wv, %xn -> [b, s, g, k, ?]
  %v = rename %v0 -> [b, t, g, k, ?]
  %o = attention %q, %k, %v {query = "s", key = "t", feature = "k", scale = 0.7, causal}
  %om = merge %o -> [b, s, w, ?]
  %a = einsum %wo, %om -> [b, s, d, ?]
  %h = add %x, %a
  %m0 = einsum %w1, %h -> [b, s, e, ?]
  %m1 = add %m0, %b1
  %m2 = sigmoid %m1
  %mn = rms_norm %m2, %ge
  %m3 = einsum %w2, %mn -> [b, s, d, ?]
  %m4 = einsum %w3, %m2 -> [b, s, d, ?]  // whose gradient has no zeros behind the end
  %z = add %h, %m3, %m4
  %logits = einsum %wte, %z -> [b, s, v@tp]
  %token = cross_entropy %logits, %targets {over = "v"}
  %loss = mean %token -> []
  return %loss, %logits
}
}
