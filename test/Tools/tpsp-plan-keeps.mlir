// The program of -o is the author's text with other subscripts: names, comments
// and line breaks stay.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && split-file %s %t
// DEFINE: %{on} = --hardware h100-sxm --devices 4 --max-axes 1 --overlap off --pin e@tp

// RUN: tpsp-plan %t/mine.mlir %{on} -o %t/placed.mlir > %t/log
// RUN: diff %t/expected.txt %t/placed.mlir
// RUN: tpsp-run %t/placed.mlir --grad --verify --quiet

// The head of an earlier plan makes way, and subscripts are taken back.
// RUN: tpsp-plan %t/placed.mlir --forget-placements %{on} -o %t/again.mlir > %t/log
// RUN: diff %t/placed.mlir %t/again.mlir
// RUN: tpsp-plan %t/placed.mlir --forget-placements --hardware h100-sxm --devices 4 --max-axes 1 --overlap off --pin b@dp -o %t/dp.mlir > %t/log
// RUN: FileCheck %s --check-prefix=DP < %t/dp.mlir
// DP: mesh @mesh <dp = 4 : data>
// DP: func private @half(%x: [b@dp, d],  param %up "w.up": [e, d], // my weight
// DP-NEXT: param %down: [d, e]) -> [b@dp, d] {
// DP: func @mine(%in: [b@dp, d]) -> [b@dp, d] {

// Other extents take the place of the author's.
// RUN: tpsp-plan %t/mine.mlir %{on} --extent b=16 -o %t/longer.mlir > %t/log
// RUN: sed -e 's/b = 8/b = 16/' %t/expected.txt | tail -n +7 > %t/longer.txt
// RUN: tail -n +7 %t/longer.mlir | diff %t/longer.txt -

// A type that the author stated, though the tool would infer it.
// RUN: sed -e '/act -> /s/ -> .*/ -> [b, d, ?]/' -e 's/= gelu %h/= gelu %h -> [b, e, ?]/' %t/mine.mlir > %t/stated.mlir
// RUN: tpsp-plan %t/stated.mlir --forget-placements --hardware h100-sxm --devices 4 --max-axes 1 --overlap off --pin b@dp -o %t/stated-dp.mlir > %t/log
// RUN: FileCheck %s --check-prefix=STATED < %t/stated-dp.mlir
// STATED: // My model.
// STATED: %act = gelu %h -> [b, e, ?]
// STATED-NEXT: %out = einsum %down, %act -> [b@dp, d]

// A plan that adds operations cannot keep the text, and says so.
// RUN: tpsp-plan %examples/llama-tiny.mlir --forget-placements --hardware h100-sxm --devices 2 --max-axes 1 --overlap off --pin h@cp=2 --pin s@cp=2 -o %t/anew.mlir > %t/log
// RUN: FileCheck %s --check-prefix=ANEW < %t/anew.mlir
// ANEW: // Written anew: the text of the program could not be kept.

// A loss is a number, and has no index whose placement is to be found.
// RUN: tpsp-plan %examples/llama-tiny.mlir --forget-placements --hardware h100-sxm --devices 4 --max-axes 1 --overlap off --pin b@dp -o %t/loss.mlir > %t/log
// RUN: FileCheck %s --check-prefix=LOSS < %t/loss.mlir
// LOSS: param %head: [v, d]) -> [] {

//--- mine.mlir
// My model.
tpsp.program <b = 8, d = 64, e = 128> {

func private @half(%x: [b, d, ?],  param %up "w.up": [e, d, ?], // my weight
                   param %down: [d, e, ?]) -> [b, d, ?] {
  %h   =  einsum %up, %x -> [b, e, ?] // hidden
  %act = gelu %h
  %out = einsum %down, %act -> [b, d, ?]
  return %out
}

// Twice.
func @mine(%in: [b, d, ?]) -> [b, d, ?] {
  %z = repeat 2 @half(%in) as "layer#.*"
  return %z
}
}

//--- expected.txt
// tp=4: parameters e@tp
// TP 4
//
//   tpsp-run THIS.mlir --grad --hardware h100-sxm --simulate

// My model.
tpsp.program <b = 8, d = 64, e = 128> {
mesh @mesh <tp = 4 : model>

func private @half(%x: [b, d],  param %up "w.up": [e@tp, d], // my weight
                   param %down: [d, e@tp]) -> [b, d] {
  %h   =  einsum %up, %x -> [b, e, ?] // hidden
  %act = gelu %h
  %out = einsum %down, %act -> [b, d]
  return %out
}

// Twice.
func @mine(%in: [b, d]) -> [b, d] {
  %z = repeat 2 @half(%in) as "layer#.*"
  return %z
}
}

