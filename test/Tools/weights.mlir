// Parameters in files: the same under every mesh, with refusals of misfits.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && split-file %s %t

// RUN: tpsp-run %examples/mlp-sp.mlir --quiet --seed 5 --save %t/four.st | count 0
// RUN: tpsp-run %examples/mlp-sp.mlir --quiet --seed 6 --mesh tp=2 --weights %t/four.st --grad --verify --save %t/two.st
// RUN: cmp %t/four.st %t/two.st
// RUN: tpsp-run %examples/mlp-sp.mlir --quiet --seed 5 --mesh tp=1 --save %t/one.st
// RUN: cmp %t/four.st %t/one.st
// RUN: tpsp-run %examples/mlp-sp.mlir --quiet --seed 6 --save %t/other.st
// RUN: not cmp %t/four.st %t/other.st

// A saved file may replace the one that is read.
// RUN: tpsp-run %examples/mlp-sp.mlir --quiet --steps 2 --verify --weights %t/two.st --save %t/two.st
// RUN: cmp %t/four.st %t/two.st

// Stored in another type, they are converted: widening and back is exact.
// RUN: tpsp-run %examples/mlp-sp.mlir --quiet --verify --dtype bf16 --weights %t/four.st --save %t/bf16.st
// RUN: tpsp-run %examples/mlp-sp.mlir --quiet --verify --weights %t/bf16.st --save %t/wide.st
// RUN: not cmp %t/four.st %t/wide.st
// RUN: tpsp-run %examples/mlp-sp.mlir --quiet --mesh tp=2 --dtype bf16 --weights %t/wide.st --save %t/again.st
// RUN: cmp %t/bf16.st %t/again.st
// RUN: tpsp-run %examples/mlp-sp.mlir --quiet --verify --dtype f16 --weights %t/four.st --save %t/f16.st
// RUN: tpsp-run %examples/mlp-sp.mlir --quiet --verify --weights %t/f16.st --save %t/wide.st
// RUN: not cmp %t/four.st %t/wide.st
// RUN: tpsp-run %examples/mlp-sp.mlir --quiet --mesh tp=2 --dtype f16 --weights %t/wide.st --save %t/again.st
// RUN: cmp %t/f16.st %t/again.st

// RUN: %S/Inputs/exits 1 tpsp-run %t/other.mlir --weights %t/four.st 2>&1 | FileCheck %s --check-prefix=FIT
// FIT: {{^}}tpsp-run: warning: '{{.*}}four.st' has tensors that the program does not take: 'w1'{{$}}
// FIT-NEXT: {{^}}tpsp-run: '{{.*}}four.st' does not fit the program: 'w0' is [1024, 256], not [4]; 'gain' is missing, f32 of [4]{{$}}

// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-sp.mlir --quiet --weights %t/none.st 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: {{^}}tpsp-run: cannot read '{{.*}}none.st': No such file or directory{{$}}

// RUN: head -c 1000000 %t/four.st > %t/cut.st
// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-sp.mlir --quiet --weights %t/cut.st 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: {{^}}tpsp-run: cannot read '{{.*}}cut.st': tensor 'w0' ends at byte 1048576 of the data, but the file has only {{[0-9]+}}: it is cut short{{$}}

// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-sp.mlir --quiet --weights %s 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: {{^}}tpsp-run: cannot read '{{.*}}': its header would have {{[0-9]+}} bytes, of the {{[0-9]+}} that follow: it is cut short or no safetensors file{{$}}

// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-sp.mlir --quiet --save %t/none/f 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: {{^}}tpsp-run: cannot write '{{.*}}none/f': No such file or directory{{$}}

// f64 is saved, too; read again, the parameters have the same bits.
// RUN: tpsp-run %t/f64.mlir --quiet --save %t/f64.st
// RUN: tpsp-run %t/f64.mlir --quiet --verify --seed 3 --weights %t/f64.st --save %t/again.st
// RUN: cmp %t/f64.st %t/again.st

//--- other.mlir
!x = tensor<4xf32, #tpsp.idx<d>>
func.func @f(%x: !x, %w: !x {tpsp.param = "w0"}, %g: !x {tpsp.param = "gain"}) -> !x {
  %y = tpsp.mul %x, %w : !x
  %z = tpsp.mul %y, %g : !x
  return %z : !x
}

//--- f64.mlir
!x = tensor<4xf64, #tpsp.idx<d>>
func.func @f(%x: !x, %w: !x {tpsp.param = "w"}) -> !x {
  %y = tpsp.mul %x, %w : !x
  return %y : !x
}
