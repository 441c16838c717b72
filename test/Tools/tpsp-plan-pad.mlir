// 12 heads and 97 words on eight ranks: axes divide the padded extents, and the
// written plan runs with its flags.
// REQUIRES: tpsp-run
// DEFINE: %{small} = --extent b=2,s=16,e=96,v=97
// DEFINE: %{plan} = tpsp-plan %examples/gpt2-small.mlir --forget-placements --devices 8 --hardware h100-sxm --overlap off --max-axes 1 --micro-batches 1 %{small}

// RUN: %{plan} --pad h=8,v=8 --pin v@tp=8 -o %t.mlir | FileCheck %s
// CHECK: 1 {{ *}}TP 8 {{ *}}tp=8: parameters v@tp p@tp h@tp e@tp
// RUN: FileCheck %s --check-prefix=FILE --implicit-check-not=tpsp.padding < %t.mlir
// FILE: tpsp-run THIS.mlir --pad h=8,v=8 --grad
// FILE: h = 12
// FILE: v = 97
// RUN: tpsp-run %t.mlir --grad --pad h=8,v=8 --verify | FileCheck %s --check-prefix=VERIFY
// VERIFY: all within tolerance

// Without padding no plan divides the words.
// RUN: not %{plan} --pin v@tp=8 2>&1 | FileCheck %s --check-prefix=NOPAD
// NOPAD: tpsp-plan: the pin v@tp=8 does not divide extent 97 of 'v'; --pad v=8 does{{$}}

// RUN: not %{plan} --pad x=8 2>&1 | FileCheck %s --check-prefix=INDEX
// INDEX: error: the program has no index 'x'
// RUN: not %{plan} --pad v=8 --stages 2 2>&1 | FileCheck %s --check-prefix=STAGES
// STAGES: tpsp-plan: --pad is not simulated with stages; give extents that the axes divide (--extent)
