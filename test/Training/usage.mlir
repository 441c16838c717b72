// The command line of tpsp-train: wrong usage is status 2, what cannot be
// trained status 1; one line with a way on.
// RUN: rm -rf %t && split-file %s %t

// RUN: %S/../Tools/Inputs/exits 0 tpsp-train --help | FileCheck %s --check-prefix=HELP
// HELP: Usage: {{.*}}tpsp-train
// HELP-NOT: --grad
// HELP: --optimizer {{.*}}=adamw
// HELP: --clip {{.*}}=1
// HELP: tpsp-train examples/llama-tiny.mlir --data README.md --steps 200 --out run
// HELP: Exit status: 0 done or interrupted, 1 the run failed, 2 wrong usage.

// RUN: %S/../Tools/Inputs/exits 2 tpsp-train 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: {{^}}tpsp-train: model is required, before --data
// RUN: %S/../Tools/Inputs/exits 2 tpsp-train %t/m.mlir 2>&1 | FileCheck %s --check-prefix=DATA
// DATA: {{^}}tpsp-train: --data is required: the tokens or samples to train on
// RUN: %S/../Tools/Inputs/exits 2 tpsp-train %t/m.mlir --data %s --optimizer none 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: {{^}}tpsp-train: --optimizer none trains nothing
// RUN: %S/../Tools/Inputs/exits 2 tpsp-train %t/m.mlir --data %s --save-every 5 2>&1 | FileCheck %s --check-prefix=OUT
// OUT: {{^}}tpsp-train: --save-every is about checkpoints, which --out writes{{$}}
// RUN: %S/../Tools/Inputs/exits 2 tpsp-train %t/m.mlir --data %s --eval-every 5 2>&1 | FileCheck %s --check-prefix=EVAL
// EVAL: {{^}}tpsp-train: --eval-every goes with --eval-data{{$}}
// RUN: %S/../Tools/Inputs/exits 2 tpsp-train %t/m.mlir --data %s --schedule cosine 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// SCHEDULE: {{^}}tpsp-train: --schedule: cosine not in {constant,warmup-linear,warmup-cosine,warmup-stable-decay}

// RUN: tpsp-train %t/m.mlir --data %s --steps 1 --dtype f16 2>&1 | FileCheck %s --check-prefix=F16
// F16: {{^}}tpsp-train: warning: parameters are in f16, in which small gradients vanish; give --loss-scale dynamic
// RUN: tpsp-train %t/m.mlir --data %s --steps 1 --dtype f16 --loss-scale dynamic 2>&1 | FileCheck %s --check-prefix=SCALED
// SCALED-NOT: warning
// SCALED: scale

// RUN: echo 'stepz = 4' > %t/misspelt.toml
// RUN: %S/../Tools/Inputs/exits 2 tpsp-train %t/m.mlir --data %s --config %t/misspelt.toml 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: {{^}}tpsp-train: --config '{{.*}}misspelt.toml': no option is called 'stepz'; is it 'steps'?{{$}}
// RUN: echo 'nothing-like-it = 4' > %t/unlike.toml
// RUN: %S/../Tools/Inputs/exits 2 tpsp-train %t/m.mlir --data %s --config %t/unlike.toml 2>&1 | FileCheck %s --check-prefix=UNLIKE
// UNLIKE: no option is called 'nothing-like-it'; keys are the options of --help, such as steps = 200{{$}}
// RUN: printf '[run]\nsteps = 4\n' > %t/section.toml
// RUN: %S/../Tools/Inputs/exits 2 tpsp-train %t/m.mlir --data %s --config %t/section.toml 2>&1 | FileCheck %s --check-prefix=SECTION
// SECTION: no option is called 'run.steps'
// RUN: %S/../Tools/Inputs/exits 1 tpsp-train %t/m.mlir --data %t/none.bin 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: {{^}}tpsp-train: cannot read '{{.*}}none.bin': No such file or directory{{$}}
// RUN: %S/../Tools/Inputs/exits 1 tpsp-train %t/m.mlir --data %t/run.toml --data-format u16 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: {{^}}tpsp-train: {{.*}}'{{.*}}run.toml' at token {{[0-9]+}} has {{[0-9]+}}, and '{{tokens|targets}}' takes tokens below 128{{$}}
// RUN: %S/../Tools/Inputs/exits 1 tpsp-train %t/m.mlir --data %s --loss cost 2>&1 | FileCheck %s --check-prefix=LOSS
// LOSS: {{^}}tpsp-train: no loss is called 'cost'; the results without indices are loss (--loss NAME){{$}}
// RUN: %S/../Tools/Inputs/exits 1 tpsp-train %t/given.mlir --data %s 2>&1 | FileCheck %s --check-prefix=GIVEN
// GIVEN: {{^}}tpsp-train: nothing gives input 'scale'; give it with --inputs, or a tensor for each sample with --data{{$}}
// RUN: sed 's/tpsp.param = "h"/tpsp.name = "h"/' %t/m.mlir > %t/head.mlir
// RUN: %S/../Tools/Inputs/exits 1 tpsp-train %t/head.mlir --data %s 2>&1 | FileCheck %s --check-prefix=HEAD
// HEAD: {{^}}tpsp-train: nothing gives input 'h': is it a parameter? Write param %h; else give it with --inputs, or a tensor for each sample with --data{{$}}
// RUN: %S/../Tools/Inputs/exits 1 tpsp-train %t/plain.mlir --data %s 2>&1 | FileCheck %s --check-prefix=PLAIN
// PLAIN: {{^}}tpsp-train: nothing gives input 'tokens': write {tpsp.data = "tokens"} on it, or give it with --inputs, or a tensor for each sample with --data{{$}}
// RUN: tpsp-run %t/m.mlir --grad --emit %t/m.so --quiet
// RUN: %S/../Tools/Inputs/exits 1 tpsp-train %t/m.so --data %s 2>&1 | FileCheck %s --check-prefix=PLAN
// PLAN: {{^}}tpsp-train: the plan does not update its parameters; compile it with --grad --optimizer adamw{{$}}
// RUN: %S/../Tools/Inputs/exits 2 tpsp-train %t/m.so --data %s --mesh dp=4 --clip 2 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: {{^}}tpsp-train: '{{.*}}m.so' is compiled, and --clip is about compiling

// A checkpoint remembers the run's settings, and another run says what differs.
// RUN: tpsp-train %t/m.mlir --data %s --steps 2 --lr 1e-3 --out %t/remembered --quiet
// RUN: tpsp-train %t/m.mlir --data %s --steps 2 --lr 1e-3 --resume %t/remembered 2>&1 | FileCheck %s --check-prefix=SAME
// SAME-NOT: was trained with
// RUN: tpsp-train %t/m.mlir --data %s --steps 4 --batch 2 --lr 1e-2 --warmup 1 --schedule constant --resume %t/remembered 2>&1 | FileCheck %s --check-prefix=DIFFERS
// DIFFERS: {{^}}tpsp-train: warning: '{{.*}}step-00000002' was trained with --batch 4 (here 2), --lr 0.001 (here 0.01), --min-lr 0.0001 (here 0.001), --schedule warmup-cosine (here constant), --steps 2 (here 4), --warmup 0 (here 1){{$}}
// RUN: %S/../Tools/Inputs/exits 1 tpsp-train %t/m.mlir --data %s --optimizer lion --resume %t/remembered 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// OPTIMIZER: {{^}}tpsp-train: '{{.*}}step-00000004' has the state of --optimizer adamw, which --optimizer lion does not take; resume with --optimizer adamw, or begin with new state: --weights {{.*}}step-00000004/parameters.safetensors{{$}}

// Losses stay f32 when tensors are bf16: not all of them are multiples of 1/64.
// RUN: tpsp-train %t/m.mlir --data %s --steps 8 --dtype bf16 --out %t/narrow --quiet
// RUN: not tpsp-train %t/m.mlir --data %s --steps 9 --resume %t/narrow 2>&1 | FileCheck %s --check-prefix=DTYPE
// DTYPE: {{^}}tpsp-train: '{{.*}}step-00000008' has the state of --dtype bf16, which a run without it does not take; resume with --dtype bf16, or begin with new state: --weights {{.*}}step-00000008/parameters.safetensors{{$}}
// RUN: python3 -c "import json,sys; assert any(json.loads(line)['loss'] * 64 %% 1 for line in open(sys.argv[1]))" %t/narrow/metrics.jsonl

// An evaluation drops nothing, so that the plan for it may not.
// RUN: sed 's/%%m = tpsp.mul %%n, %%g2 : (!x, !g) -> !x/%%k = tpsp.mul %%n, %%g2 : (!x, !g) -> !x\n  %%m = tpsp.dropout %%k {rate = 0.5, seed = 3} : !x/' %t/m.mlir > %t/drops.mlir
// RUN: tpsp-run %t/drops.mlir --grad --optimizer adamw --input-gradients off --emit %t/train.so --quiet
// RUN: tpsp-run %t/drops.mlir --emit %t/drops.so --quiet
// RUN: tpsp-run %t/drops.mlir --dropout off --emit %t/keeps.so --quiet
// DEFINE: %{train-plan} = tpsp-train %t/train.so --data %s --steps 2 --eval-data %s
// RUN: %S/../Tools/Inputs/exits 1 %{train-plan} --eval-plan %t/drops.so 2>&1 | FileCheck %s --check-prefix=DROPS
// DROPS: {{^}}tpsp-train: '{{.*}}drops.so' drops at random, and an evaluation drops nothing; compile the model for it with --dropout off and without --grad{{$}}
// RUN: %{train-plan} --eval-plan %t/keeps.so | FileCheck %s --check-prefix=KEEPS
// KEEPS: step 2 evaluation: loss
// RUN: %S/../Tools/Inputs/exits 2 %{train-plan} 2>&1 | FileCheck %s --check-prefix=NOPLAN
// NOPLAN: {{^}}tpsp-train: --eval-data with a compiled plan needs --eval-plan: compile the model with --dropout off and without --grad{{$}}

// Data too short says which it is.
// RUN: printf '\001' > %t/one.txt
// RUN: %S/../Tools/Inputs/exits 1 tpsp-train %t/m.mlir --data %t/one.txt 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: {{^}}tpsp-train: the data has 1 token, and one sample takes 9; give more files
// RUN: %S/../Tools/Inputs/exits 1 tpsp-train %t/m.mlir --data %s --eval-data %t/one.txt 2>&1 | FileCheck %s --check-prefix=SHORTER
// SHORTER: {{^}}tpsp-train: --eval-data: the data has 1 token, and one sample takes 9

// Found before the run, not after it.
// RUN: %S/../Tools/Inputs/exits 1 tpsp-train %t/m.mlir --data %s --plot %t/none/x.svg 2>&1 | FileCheck %s --check-prefix=PLOT
// PLOT: {{^}}tpsp-train: cannot write '{{.*}}none/x.svg': No such file or directory{{$}}
// RUN: %S/../Tools/Inputs/exits 1 tpsp-train %t/m.mlir --data %s --out %s 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: {{^}}tpsp-train: cannot make folder '{{.*}}usage.mlir': Not a directory{{$}}

// Options from a file; the command line decides.
// RUN: rm -rf %t.out
// RUN: tpsp-train %t/m.mlir --config %t/run.toml --data %s --eval-data %t/m.mlir --out %t.out | FileCheck %s --check-prefix=CONFIG
// CONFIG: {{^}}2064 parameters on 2 ranks
// CONFIG: {{^}}step 1/4  loss
// CONFIG: {{^}}step 3 evaluation: loss {{.*}} over 2 batches
// CONFIG: {{^}}step 4/4  loss
// CONFIG-NEXT: {{^}}step 4 evaluation: loss
// CONFIG: {{^}}done: step 4; checkpoint in {{.*}}step-00000004; metrics in {{.*}}metrics.jsonl{{$}}
// RUN: %S/../Tools/Inputs/exits 1 tpsp-train %t/m.mlir --config %t/run.toml --data %s --eval-data %t/m.mlir --out %t.out 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: {{^}}tpsp-train: '{{.*}}.out' has checkpoints, the last of them '{{.*}}step-00000004'; go on from it with --resume {{.*}}, or give another --out{{$}}

// The rate ends at no more than it was.
// RUN: %S/../Tools/Inputs/exits 2 tpsp-train %t/m.mlir --data %s --lr 1e-3 --min-lr 2e-3 2>&1 | FileCheck %s --check-prefix=RATES
// RATES: {{^}}tpsp-train: --min-lr is above --lr, and the learning rate falls to it{{$}}
// RUN: tpsp-train %t/m.mlir --data %s --steps 1 --lr 1e-3 --min-lr 1e-3 --quiet

// What is to be minimised has no indices.
// RUN: %S/../Tools/Inputs/exits 1 tpsp-train %examples/mlp-sp.mlir --data %s 2>&1 | FileCheck %s --check-prefix=NOLOSS
// NOLOSS: {{^}}tpsp-train: the program has no result without indices that could be minimised; return one, such as %loss = mean %each -> []{{$}}

// Other inputs from a file, and several losses.
// RUN: tpsp-run %t/given.mlir --quiet --save-all %t/all.st
// RUN: tpsp-train %t/given.mlir --data %s --inputs scale=%S/Inputs/half.npy --steps 2 --quiet
// RUN: %S/../Tools/Inputs/exits 1 tpsp-train %t/two.mlir --data %s 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: {{^}}tpsp-train: the program has several losses; the results without indices are loss, z (--loss NAME){{$}}
// RUN: tpsp-train %t/two.mlir --data %s --loss loss --steps 2 --quiet

// A loss that is no number at the first step: the place and the argument.
// RUN: not tpsp-train %t/first.mlir --data %s --steps 3 --quiet 2>&1 | FileCheck %s --check-prefix=STEP1
// STEP1: the loss of step 1 is nan, before any update: the learning rate has no part in it; rank {{[01]}}: {{.*}}first.mlir:{{.*}} is the first command that writes a NaN
// RUN: python3 %t/first.py %t/first.safetensors
// RUN: not tpsp-train %t/first.mlir --data %s --steps 3 --quiet --weights %t/first.safetensors 2>&1 | FileCheck %s --check-prefix=WEIGHTED
// WEIGHTED: the loss of step 1 is nan, {{.*}}; w: 1 of 4 elements are not finite; rank

//--- run.toml
steps = 4
eval-every = 3
eval-batches = 2
log-every = 100
seed = 8

//--- m.mlir
tpsp.mesh @mesh <dp = 2 : data>
!ids = tensor<4x8xi32, #tpsp.idx<b@dp, s>>
!t = tensor<128x8xf32, #tpsp.idx<v, d>>
!x = tensor<4x8x8xf32, #tpsp.idx<b, s, d, ?>>
!h = tensor<128x8xf32, #tpsp.idx<v, d>>
!l = tensor<4x8x128xf32, #tpsp.idx<b, s, v, ?>>
!c = tensor<4x8xf32, #tpsp.idx<b, s, ?>>
!g = tensor<8xf32, #tpsp.idx<d>>
!s = tensor<f32, #tpsp.idx<>>
func.func @m(%tokens: !ids {tpsp.name = "tokens", tpsp.data = "tokens"},
             %targets: !ids {tpsp.name = "targets", tpsp.data = "next_tokens"},
             %t: !t {tpsp.param = "t"}, %h: !h {tpsp.param = "h"},
             %g: !g {tpsp.param = "g"}, %g2: !g {tpsp.param = "g2"}) -> (!s {tpsp.name = "loss"}) {
  %x = tpsp.embedding %tokens, %t {vocabulary = "v"} : (!ids, !t) -> !x
  %n = tpsp.rms_norm %x, %g : (!x, !g) -> !x
  %m = tpsp.mul %n, %g2 : (!x, !g) -> !x
  %l = tpsp.einsum %h, %m : (!h, !x) -> !l
  %c = tpsp.cross_entropy %l, %targets {over = "v"} : (!l, !ids) -> !c
  %loss = tpsp.mean %c : (!c) -> !s
  return %loss : !s
}

//--- given.mlir
tpsp.mesh @mesh <dp = 2 : data>
!ids = tensor<4x8xi32, #tpsp.idx<b@dp, s>>
!t = tensor<128x8xf32, #tpsp.idx<v, d>>
!x = tensor<4x8x8xf32, #tpsp.idx<b, s, d, ?>>
!h = tensor<128x8xf32, #tpsp.idx<v, d>>
!l = tensor<4x8x128xf32, #tpsp.idx<b, s, v, ?>>
!c = tensor<4x8xf32, #tpsp.idx<b, s, ?>>
!g = tensor<8xf32, #tpsp.idx<d>>
!s = tensor<f32, #tpsp.idx<>>
func.func @m(%tokens: !ids {tpsp.name = "tokens", tpsp.data = "tokens"},
             %targets: !ids {tpsp.name = "targets", tpsp.data = "next_tokens"},
             %scale: !g {tpsp.name = "scale"}, %t: !t {tpsp.param = "t"}, %h: !h {tpsp.param = "h"},
             %g: !g {tpsp.param = "g"}, %g2: !g {tpsp.param = "g2"}) -> (!s {tpsp.name = "loss"}) {
  %x = tpsp.embedding %tokens, %t {vocabulary = "v"} : (!ids, !t) -> !x
  %n = tpsp.rms_norm %x, %g : (!x, !g) -> !x
  %m = tpsp.mul %n, %g2 : (!x, !g) -> !x
  %q = tpsp.mul %m, %scale : (!x, !g) -> !x
  %l = tpsp.einsum %h, %q : (!h, !x) -> !l
  %c = tpsp.cross_entropy %l, %targets {over = "v"} : (!l, !ids) -> !c
  %loss = tpsp.mean %c : (!c) -> !s
  return %loss : !s
}

//--- plain.mlir
tpsp.mesh @mesh <dp = 2 : data>
!ids = tensor<4x8xi32, #tpsp.idx<b@dp, s>>
!t = tensor<128x8xf32, #tpsp.idx<v, d>>
!x = tensor<4x8x8xf32, #tpsp.idx<b, s, d, ?>>
!h = tensor<128x8xf32, #tpsp.idx<v, d>>
!l = tensor<4x8x128xf32, #tpsp.idx<b, s, v, ?>>
!c = tensor<4x8xf32, #tpsp.idx<b, s, ?>>
!g = tensor<8xf32, #tpsp.idx<d>>
!s = tensor<f32, #tpsp.idx<>>
func.func @m(%tokens: !ids {tpsp.name = "tokens"},
             %targets: !ids {tpsp.name = "targets"},
             %t: !t {tpsp.param = "t"}, %h: !h {tpsp.param = "h"},
             %g: !g {tpsp.param = "g"}, %g2: !g {tpsp.param = "g2"}) -> (!s {tpsp.name = "loss"}) {
  %x = tpsp.embedding %tokens, %t {vocabulary = "v"} : (!ids, !t) -> !x
  %n = tpsp.rms_norm %x, %g : (!x, !g) -> !x
  %m = tpsp.mul %n, %g2 : (!x, !g) -> !x
  %l = tpsp.einsum %h, %m : (!h, !x) -> !l
  %c = tpsp.cross_entropy %l, %targets {over = "v"} : (!l, !ids) -> !c
  %loss = tpsp.mean %c : (!c) -> !s
  return %loss : !s
}

//--- two.mlir
tpsp.mesh @mesh <dp = 2 : data>
!ids = tensor<4x8xi32, #tpsp.idx<b@dp, s>>
!t = tensor<128x8xf32, #tpsp.idx<v, d>>
!x = tensor<4x8x8xf32, #tpsp.idx<b, s, d, ?>>
!h = tensor<128x8xf32, #tpsp.idx<v, d>>
!l = tensor<4x8x128xf32, #tpsp.idx<b, s, v, ?>>
!c = tensor<4x8xf32, #tpsp.idx<b, s, ?>>
!g = tensor<8xf32, #tpsp.idx<d>>
!s = tensor<f32, #tpsp.idx<>>
func.func @m(%tokens: !ids {tpsp.name = "tokens", tpsp.data = "tokens"},
             %targets: !ids {tpsp.name = "targets", tpsp.data = "next_tokens"},
             %t: !t {tpsp.param = "t"}, %h: !h {tpsp.param = "h"},
             %g: !g {tpsp.param = "g"}, %g2: !g {tpsp.param = "g2"}) -> (!s {tpsp.name = "loss"}, !s {tpsp.name = "z"}) {
  %x = tpsp.embedding %tokens, %t {vocabulary = "v"} : (!ids, !t) -> !x
  %n = tpsp.rms_norm %x, %g : (!x, !g) -> !x
  %m = tpsp.mul %n, %g2 : (!x, !g) -> !x
  %l = tpsp.einsum %h, %m : (!h, !x) -> !l
  %c = tpsp.cross_entropy %l, %targets {over = "v"} : (!l, !ids) -> !c
  %loss = tpsp.mean %c : (!c) -> !s
  %q = tpsp.mul %l, %l : (!l, !l) -> !l
  %z = tpsp.mean %q : (!l) -> !s
  return %loss, %z : !s, !s
}

//--- first.mlir
tpsp.program <b = 4, s = 8, d = 4, v = 256> {
mesh @mesh <dp = 2 : data>
func @model(%tokens: i32[b@dp, s] {tpsp.data = "tokens"}, %targets: i32[b@dp, s] {tpsp.data = "next_tokens"},
    param %table: [v, d], param %w: [d], param %head: [v, d]) -> [] {
  %x = embedding %tokens, %table {vocabulary = "v"}
  %scaled = mul %x, %w
  %rooted = sqrt %scaled
  %logits = einsum %head, %rooted -> [b, s, v, ?]
  %token = cross_entropy %logits, %targets {over = "v"}
  %loss = mean %token -> []
  return %loss
}
}

//--- first.py
import json, struct, sys
tensors = {"table": [1.0] * 1024, "w": [1.0, 1.0, float("nan"), 1.0], "head": [1.0] * 1024}
shapes = {"table": [256, 4], "w": [4], "head": [256, 4]}
header, body = {}, b""
for name, values in tensors.items():
    data = struct.pack(f"<{len(values)}f", *values)
    header[name] = {"dtype": "F32", "shape": shapes[name], "data_offsets": [len(body), len(body) + len(data)]}
    body += data
text = json.dumps(header).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + body)
