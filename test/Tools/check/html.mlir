// --html: one page with the answer, the findings at their lines, the equations
// and the model. It has what --json has, and no name becomes markup.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t && cp %S/../Inputs/checked-layer.mlir %t/layer.mlir
// RUN: cd %t && tpsp-run layer.mlir --grad --quiet --save-all right.safetensors
// RUN: cd %t && env PYTHONPATH=%S/../Inputs python3 %S/../Inputs/checked-layer.py
// RUN: cd %t && not tpsp-check layer.mlir --numbers dump --json numbers.json --html numbers.html
// RUN: cd %t && python3 %S/../Inputs/check-page.py numbers.html --checks numbers.json --model layer.mlir
// RUN: cd %t && not tpsp-check layer.mlir --trace trace_rank_0.json --json trace.json --html trace.html
// RUN: cd %t && python3 %S/../Inputs/check-page.py trace.html --checks trace.json --model layer.mlir

// Both in one page; and two dumps, which
// have no model.
// RUN: cd %t && not tpsp-check layer.mlir --numbers dump --trace trace_rank_0.json --html both.html
// RUN: cd %t && python3 %S/../Inputs/check-page.py both.html --checks trace.json numbers.json --model layer.mlir
// RUN: cd %t && not tpsp-check --against right --numbers dump --json against.json --html against.html
// RUN: cd %t && python3 %S/../Inputs/check-page.py against.html --checks against.json
// RUN: cd %t && tpsp-check layer.mlir --numbers right --json right.json --html right.html
// RUN: cd %t && python3 %S/../Inputs/check-page.py right.html --checks right.json --model layer.mlir

// A program that cannot be differentiated, forward alone.
// RUN: cd %t && tpsp-run %S/../../Execution/attention-statistic.mlir --mesh cp=1,tp=1 --quiet --save-all forward.safetensors
// RUN: cd %t && env PYTHONPATH=%S/../Inputs python3 -c "import write_dump as w; w.write('forward', 0, {'act:' + name: own for name, own in w.read('forward.safetensors').items()})"
// RUN: cd %t && tpsp-check %S/../../Execution/attention-statistic.mlir --mesh cp=1,tp=1 --numbers forward --json forward.json --html forward.html
// RUN: cd %t && python3 %S/../Inputs/check-page.py forward.html --checks forward.json --model %S/../../Execution/attention-statistic.mlir

// A page that cannot be written, or that would replace another file.
// RUN: cd %t && not tpsp-check layer.mlir --numbers right --html no/p.html 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: {{^}}tpsp-check: cannot write 'no/p.html': No such file or directory{{$}}
// RUN: cd %t && not tpsp-check layer.mlir --numbers right --html layer.mlir 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: cd %t && not tpsp-check layer.mlir --numbers right --html p --json p 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: {{^}}tpsp-check: --html names a file that is read, or written by another option; give another path{{$}}
