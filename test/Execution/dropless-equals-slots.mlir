// Rows of blocks and slots of experts are the same model if nothing is dropped:
// the same result, and gradients of the same norm, in f64.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// DEFINE: %{numbers} = grep -E '^(loss|norm) '
// RUN: tpsp-run %t/slots.mlir --grad --optimizer sgd --clip 1 --dtype f64 | %{numbers} > %t/slots.txt
// RUN: tpsp-run %t/rows.mlir --grad --optimizer sgd --clip 1 --dtype f64 | %{numbers} > %t/rows.txt
// RUN: diff %t/slots.txt %t/rows.txt
// RUN: tpsp-run %t/rows.mlir --grad --optimizer sgd --clip 1 --dtype f64 --mesh ep=2 | %{numbers} > %t/two.txt
// RUN: diff %t/slots.txt %t/two.txt
// RUN: tpsp-run %t/rows.mlir --grad --optimizer sgd --clip 1 --dtype f64 --extent j=1,i=6,c=10 | %{numbers} > %t/one.txt
// RUN: diff %t/slots.txt %t/one.txt
// RUN: grep -c . %t/slots.txt | FileCheck %s --check-prefix=TWO
// TWO: 2
// With fewer rows they differ.
// RUN: tpsp-run %t/rows.mlir --grad --optimizer sgd --clip 1 --dtype f64 --extent c=2 | %{numbers} > %t/few.txt
// RUN: not diff %t/slots.txt %t/few.txt

//--- slots.mlir
tpsp.program <g = 4, s = 5, d = 6, e = 6, f = 9, k = 2, c = 5> {
mesh @mesh <ep = 1 : model>
func @model(%x: [g@ep, s, d], param %gate: [e, d], param %up: [e@ep, f, d], param %down: [e@ep, d, f]) -> ([] {tpsp.name = "loss"}) {
  %score  = einsum %gate, %x -> [g, s, e, ?]
  %choice = router %score {expert = "e", choice = "k"}
  %best   = one_hot_einsum %choice, %score {indices = ["e"]} -> [g, s, k, ?]
  %weight = softmax %best {over = "k"}
  %y  = dispatch %choice, %x {expert = "e", slot = "c", choice = "k"} -> [e@ep, g, c, d]
  %u  = einsum %up, %y -> [e, g, c, f, ?]
  %a  = silu %u
  %v  = einsum %down, %a -> [e, g, c, d, ?]
  %z  = combine %choice, %weight, %v {expert = "e", slot = "c", choice = "k"} -> [g, s, d, ?]
  %q  = square %z
  %loss = mean %q -> []
  return %loss
}
}
//--- rows.mlir
tpsp.program <g = 4, s = 5, d = 6, j = 2, i = 3, e = 6, f = 9, k = 2, c = 10> {
mesh @mesh <ep = 1 : model>
func @model(%x: [g@ep, s, d], param %gate: [e, d], param %up: [e@ep, f, d], param %down: [e@ep, d, f]) -> ([] {tpsp.name = "loss"}) {
  %score  = einsum %gate, %x -> [g, s, e, ?]
  %choice = router %score {expert = "e", choice = "k"}
  %best   = one_hot_einsum %choice, %score {indices = ["e"]} -> [g, s, k, ?]
  %weight = softmax %best {over = "k"}
  %load   = count_values %choice {over = ["s", "k"], of = ["j", "i"]}
  %expert = runs %load {of = "i", along = "c"} -> [j@ep, g, c]
  %y  = dispatch %choice, %load, %x {expert = "i", slot = "c", choice = "k"} -> [j@ep, g, c, d]
  %w1 = split %up -> [j, i, f, d, ?]
  %u  = one_hot_einsum %expert, %w1, %y {indices = ["i"]} -> [j, g, c, f, ?]
  %a  = silu %u
  %w2 = split %down -> [j, i, d, f, ?]
  %v  = one_hot_einsum %expert, %w2, %a {indices = ["i"]} -> [j, g, c, d, ?]
  %z  = combine %choice, %load, %weight, %v {expert = "i", slot = "c", choice = "k"} -> [g, s, d, ?]
  %q  = square %z
  %loss = mean %q -> []
  return %loss
}
}
