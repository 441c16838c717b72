// --html: one page with the data of --json and --report, of the planner and of
// a run; refusals; and no partial page if it cannot be written.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t

// The planner's page: the matrix, and the steps of the best three plans. The
// function's name would end the element that holds the data.
// RUN: tpsp-plan %s --hardware h100-sxm --devices 4 --max-axes 1 --overlap off --json --html %t/plan.html > %t/plan.json
// RUN: python3 %S/Inputs/check-page.py %t/plan.html --matrix %t/plan.json --steps 3

// Plans with stages are drawn with their stages: the step and the memory of
// each stage agree with the table, and with tpsp-run for the placed program.
// RUN: tpsp-plan %examples/llama-tiny.mlir --forget-placements --hardware h100-sxm --devices 4 --stages 2 --micro-batches 4 --optimizer adamw --overlap off --json --html %t/staged.html -o %t/staged.mlir > %t/staged.json
// RUN: python3 %S/Inputs/check-page.py %t/staged.html --matrix %t/staged.json --steps 3 --stages 2
// RUN: sh -c "$(sed -n 's,^// *[a-z-]* THIS.mlir,tpsp-run %t/staged.mlir,p' %t/staged.mlir) --quiet --html %t/again.html --report %t/again.json"
// RUN: python3 %S/Inputs/check-page.py %t/again.html --report %t/again.json --stages 2
// RUN: python3 %S/Inputs/planned-step.py %t/staged.json %t/again.json

// If nothing fits, the page has the plans that come nearest, if they were
// compiled.
// RUN: not tpsp-plan %s --hardware h100-sxm --devices 4 --max-axes 1 --overlap off --memory 60KiB --json --html %t/none.html > %t/none.json
// RUN: python3 %S/Inputs/check-page.py %t/none.html --matrix %t/none.json --steps 3

// The pages of a prediction and of a run.
// RUN: tpsp-run %examples/tp-sp.mlir --grad --simulate --hardware h100-sxm --quiet --html %t/simulated.html --report %t/simulated.json
// RUN: python3 %S/Inputs/check-page.py %t/simulated.html --report %t/simulated.json
// RUN: tpsp-run %examples/tp-sp.mlir --grad --quiet --html %t/run.html --report %t/run.json
// RUN: python3 %S/Inputs/check-page.py %t/run.html --report %t/run.json

// A page that cannot be written.
// RUN: %S/Inputs/exits 1 tpsp-run %examples/tp-sp.mlir --quiet --html %t/no/r.html 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: {{^}}tpsp-run: cannot write '{{.*}}no/r.html': No such file or directory{{$}}
// RUN: %S/Inputs/exits 1 tpsp-run %examples/tp-sp.mlir --quiet --html /dev/full 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: {{^}}tpsp-run: cannot write '/dev/full': No space left on device{{$}}
// RUN: %S/Inputs/exits 1 tpsp-plan %s --hardware h100-sxm --devices 2 --max-axes 1 --overlap off --html %t/no/p.html 2>&1 | FileCheck %s --check-prefix=NO
// NO: {{^}}tpsp-plan: cannot write '{{.*}}no/p.html': No such file or directory{{$}}
// RUN: not ls %t/no

// RUN: %S/Inputs/exits 2 tpsp-plan %s --hardware h100-sxm --html %t/x.html -o %t/x.html 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: %S/Inputs/exits 2 tpsp-plan %t/plan.json --hardware h100-sxm --html %t/plan.json 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: %S/Inputs/exits 2 tpsp-plan %s --hardware h100-sxm --pareto %s 2>&1 | FileCheck %s --check-prefix=DRAWN
// DRAWN: {{^}}tpsp-plan: --pareto names a file that is read, or written by another option; give another path{{$}}
// OTHER: {{^}}tpsp-plan: --html names a file that is read, or written by another option; give another path{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/tp-sp.mlir --backend trace --html %t/x.html 2>&1 | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}tpsp-run: --html needs a run, and --backend trace runs nothing; use --backend cpu{{$}}
// RUN: %S/Inputs/exits 2 tpsp-run %examples/tp-sp.mlir --html %t/x.html --report %t/x.html 2>&1 | FileCheck %s --check-prefix=SAME
// SAME: {{^}}tpsp-run: --html and --report are one file, '{{.*}}x.html'; give each its own{{$}}

!x    = tensor<6x32x64xf32, #tpsp.idx<b, s, d, ?>>
!mid  = tensor<6x32x128xf32, #tpsp.idx<b, s, e, ?>>
!up   = tensor<128x64xf32, #tpsp.idx<e, d, ?>>
!down = tensor<64x128xf32, #tpsp.idx<d, e, ?>>

func.func @"</script><b>"(%x: !x {tpsp.name = "x"}, %up: !up {tpsp.param = "</script>"},
                          %down: !down {tpsp.param = "down"}) -> !x {
  %u = tpsp.einsum %up, %x : (!up, !x) -> !mid
  %a = tpsp.gelu %u : !mid
  %y = tpsp.einsum %down, %a : (!down, !mid) -> !x
  return %y : !x
}
