// Arguments from files: tokens, parameters and cotangents, and refusals.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t
// RUN: python3 %S/Inputs/write-npy.py %t/ids.npy i8 2,64 0 512
// RUN: python3 %S/Inputs/write-npy.py %t/labels.npy i4 2,64 1 512
// RUN: tpsp-run %examples/vocab-parallel.mlir --grad --verify --inputs %t/ids.npy --inputs targets=%t/labels.npy --report %t/run.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t/run.json
// CHECK: {{^}}loss [[LOSS:[0-9.]+]]{{$}}
// CHECK-NEXT: {{^}}gradients with g[loss] = 1 (--inputs gives others){{$}}
// CHECK: all within tolerance
// REPORT: "scalars": {
// REPORT-NEXT: "loss": {{[0-9.]+}}
// REPORT: "cotangents": {
// REPORT-NEXT: "g[loss]": "1"

// The loss depends on the tokens, and not on the mesh.
// RUN: tpsp-run %examples/vocab-parallel.mlir --inputs %t/ids.npy --inputs targets=%t/labels.npy | grep '^loss ' > %t/four
// RUN: tpsp-run %examples/vocab-parallel.mlir --inputs %t/ids.npy --inputs targets=%t/labels.npy --mesh tp=1 | grep '^loss ' > %t/one
// RUN: cmp %t/four %t/one
// RUN: tpsp-run %examples/vocab-parallel.mlir --inputs ids=%t/labels.npy --inputs targets=%t/labels.npy | grep '^loss ' > %t/other
// RUN: not cmp %t/four %t/other
// Without a backward pass the report has no gradients.
// RUN: tpsp-run %examples/vocab-parallel.mlir | FileCheck %s --check-prefix=FORWARD --implicit-check-not="gradients with" --implicit-check-not='g['
// FORWARD: {{^}}loss {{[0-9.]+}}{{$}}

// A run's arguments, from its own file, give the same on another mesh.
// RUN: tpsp-run %s --grad --quiet --save-all %t/all.st
// RUN: %S/Inputs/exits 1 tpsp-run %s --grad --quiet --inputs %t/all.st 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: {{^}}tpsp-run: '{{.*}}all.st' gives 'g[w]', 'g[x]', 'y', which the program does not take; it takes 'x' (f32 of [4, 8]), 'g[y]' (f32 of [8, 4]), 'w' (f32 of [8, 8]){{$}}

// A parameter in --inputs is not taken from --weights, which need not have it.
// RUN: tpsp-run %s --quiet --save %t/w.st
// RUN: python3 %S/Inputs/write-npy.py %t/w.npy f8 8,8 0 64
// RUN: tpsp-run %s --quiet --verify --weights %t/w.st --inputs %t/w.npy --save %t/new.st
// RUN: tpsp-run %s --quiet --verify --inputs %t/new.st --save %t/again.st
// RUN: not cmp %t/w.st %t/new.st
// RUN: cmp %t/new.st %t/again.st
// RUN: tpsp-run %s --quiet --seed 3 --mesh tp=1 --verify --inputs %t/w.st --save %t/same.st
// RUN: cmp %t/w.st %t/same.st

// Cotangents of tensors are random, or given.
// RUN: tpsp-run %s --grad | FileCheck %s --check-prefix=RANDOM
// RANDOM: {{^}}gradients with g[y] random (--inputs gives others){{$}}
// RUN: python3 %S/Inputs/write-npy.py %t/g.npy f4 8,4 0 32
// RUN: tpsp-run %s --grad --verify --inputs g[y]=%t/g.npy | FileCheck %s --check-prefix=GIVEN
// GIVEN: {{^}}gradients with g[y] from a file (--inputs gives others){{$}}

// --weights does not take inputs from a file of weights.
// RUN: tpsp-run %s --quiet --save-all %t/two.st
// RUN: tpsp-run %s --weights %t/two.st 2>&1 >/dev/null | FileCheck %s --check-prefix=WEIGHTS
// WEIGHTS: {{^}}tpsp-run: warning: '{{.*}}two.st' has tensors that the program does not take: 'y'; 'x' of '{{.*}}two.st' is an input, which --weights does not give; give it with --inputs{{$}}

// RUN: python3 %S/Inputs/write-npy.py %t/ids.npy i8 2,64 448 513
// RUN: %S/Inputs/exits 1 tpsp-run %examples/vocab-parallel.mlir --quiet --inputs %t/ids.npy 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: {{^}}tpsp-run: '{{.*}}ids.npy': element 64 of 'ids' is 512, and its integers are from 0 to 511 (tpsp.below, or the extent that they are positions in){{$}}

// RUN: %S/Inputs/exits 1 tpsp-run %s --quiet --inputs %t/none.npy 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: {{^}}tpsp-run: cannot read '{{.*}}none.npy': No such file or directory{{$}}
// RUN: %S/Inputs/exits 2 tpsp-run %s --simulate --inputs %t/g.npy 2>&1 | FileCheck %s --check-prefix=SIMULATE
// SIMULATE: {{^}}tpsp-run: --inputs needs a run, and --simulate runs nothing
// RUN: %S/Inputs/exits 2 tpsp-run %s --inputs w=%t/w.npy --save %t/w.npy 2>&1 | FileCheck %s --check-prefix=REPLACE
// REPLACE: {{^}}tpsp-run: --save would replace '{{.*}}w.npy', which is read; give another path

// A plan takes them as its model does, and has the values' deviations.
// RUN: tpsp-run %s --grad --quiet --emit %t/plan.so
// RUN: tpsp-run %t/plan.so --verify --inputs %t/w.npy --inputs g[y]=%t/g.npy --quiet --save-all %t/plan.st
// RUN: tpsp-run %s --grad --inputs %t/w.npy --inputs g[y]=%t/g.npy --quiet --save-all %t/model.st
// RUN: cmp %t/plan.st %t/model.st

tpsp.mesh @mesh <tp = 4 : model>
!x = tensor<4x8xf32, #tpsp.idx<s, d>>
!w = tensor<8x8xf32, #tpsp.idx<e@tp, d>>
!y = tensor<8x4xf32, #tpsp.idx<e@tp, s>>
func.func @f(%x: !x {tpsp.name = "x"}, %w: !w {tpsp.param = "w"}) -> !y {
  %y = tpsp.einsum %w, %x : (!w, !x) -> !y
  return %y : !y
}
