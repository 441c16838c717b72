// What an editor sees of an example: placements that were found, collectives of
// a line, completions, definitions; and all of it beside an error.
// RUN: %python %S/Inputs/editor.py tpsp-lsp-server %examples %s | FileCheck %s

//> open llama-tiny.mlir
// CHECK: no problems
//> replace "tp = 1" "tp = 2"
// CHECK: no problems
//> symbols
// CHECK: @layer @model

// A hole of the text has its placement, and the line its collectives of both
// passes.
//> hover "%a  ="
// CHECK: hover "%a
// CHECK-NEXT: `a[b@dp, s@tp, d]`  f32, 16 x 256 x 256, 1.0 MiB per rank
// CHECK: - forward: **reduce_scatter** `a[b@dp, s, d | sum@tp]` -> `[b@dp, s@tp, d]` over tp along s, 1.0 MiB per rank, in each of 6 calls: @tp divides h, which is summed away
// CHECK: - backward: **all_gather** `g[h][b@dp, s@tp, d]` -> `[b@dp, s, d]` over tp along s, 1.0 MiB
// CHECK: - backward: **all_reduce** `g[layers.#.wo]{{.*}} over dp, {{.*}}, in each of 6 calls:

// Repetitions are shortened before they are compiled.
//> replace "repeat 6" "repeat 126"
//> hover "%a  ="
// CHECK: - forward: **reduce_scatter** {{.*}}, in each of 126 calls:
//> replace "repeat 126" "repeat 6"
// A call's result lies as the callee's.
//> hover "%x  = repeat"
// CHECK: `x[b@dp, s@tp, d]`

// An operand has the collectives that move it alone.
//> hover "%xn -> [b, s, h, r"
// CHECK: hover "%xn
// CHECK-NEXT: `xn[b@dp, s@tp, d]`
// CHECK: **all_gather** `xn[
// CHECK-NOT: layers.#.wq

//> hover "einsum %wo"
// CHECK: `a[b@dp, s@tp, d]`
// CHECK: Product of tensors
//> hover "tp = 2"
// CHECK: axis `tp`, 2 ranks, role model
//> hover "s = 256"
// CHECK: index `s`, extent 256
//> hover "@layer(%x0)"
// CHECK: function `@layer`, 6 times in the program

//> define "%q, %k, %v" 1
// CHECK: defined on line 21
//> references "%hn = r"
// CHECK: used on 29 30 32
//> define "@layer(%x0)"
// CHECK: defined on line 13

//> complete "%q, %k, %v" 1
// CHECK: x attention_gain wq wk wv wo ffn_gain w1 w3 w2 xn q0 k0 v0 q k1 k v{{$}}
//> complete "[b, s, h, r, k" 1
// CHECK: {{^}}b s t d h r k e v ?{{$}}
//> complete "b@dp, s" 2
// CHECK: {{^}}dp tp{{$}}
//> complete "@layer(%x0)" 1
// CHECK: {{^}}layer model{{$}}
//> complete "{position" 1
// CHECK: fast_turns feature {{.*}} position
//> complete "{vocabulary" 15
// CHECK: {{^}}b s t d h r k e v{{$}}
//> complete "{tpsp.data" 1
// CHECK: tpsp.param tpsp.name tpsp.data tpsp.frozen
//> complete ": data" 2
// CHECK: data model stage
//> complete "einsum %wo"
// CHECK: add {{.*}}einsum {{.*}}rms_norm {{.*}}call repeat{{$}}

// Beside an error, the lines that did not change keep their facts.
//> replace "%h  = add %x, %a" "%new = scale %x"
// CHECK: error at 35:13: '%h' is not defined in this function
//> hover "%a  ="
// CHECK: `a[b@dp, s@tp, d]`
// CHECK: **reduce_scatter**
// CHECK: The program does not parse. This is of the last text that did.
//> hover "%logits = einsum"
// CHECK: `logits[b@dp, s, v@tp]`
//> hover "%new"
// CHECK: nothing
//> complete "scale %x" 7
// CHECK: {{^}}x {{.*}}q k1 k v o a{{$}}

// A text that never parsed is compiled without its broken lines.
//> text
// CHECK: error at 4:
//> hover "%u ="
// CHECK: `u[s, e@tp]`  f32, 8 x 4, 64 B per rank
// CHECK: This is of the program without the lines that do not parse
//> hover "%late"
// CHECK: nothing

// A rule of placement is broken: the error is in its place, without dumps.
//> replace "bad_word %x" "einsum %w, %x -> [s, d2, ?]"
// CHECK: error at 4:{{.*}}d2

//---
tpsp.program <s = 8, d = 2, e = 4> {
mesh @mesh <tp = 2>
func @f(%x: [s, d], param %w: [e@tp, d]) -> [s, e@tp] {
  %y = bad_word %x // ünits
  %u = einsum %w, %x -> [s, e, ?]
  %late = mul %y, %u
  return %late
}
}
//---
