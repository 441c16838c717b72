// Predicting instead of running: the printed text, the report, and
// refusals.
// REQUIRES: tpsp-run
// DEFINE: %{on} = --grad --dtype bf16 --simulate --hardware

// A plan of one stream: everything that is sent is exposed, and the kinds' times
// are the step's.
// RUN: tpsp-run %examples/llama3-8b-block.mlir %{on} h100-sxm --report %t.json | FileCheck %s --check-prefix=TEXT
// TEXT: Predicted for h100-sxm
// TEXT-NEXT: kernel x14
// TEXT: matmul x21
// TEXT-NEXT: attention x2
// TEXT: reduce_scatter x4
// TEXT: matmuls use {{[0-9]+}} % of the peak, links {{[0-9]+}} %
// TEXT-NOT: does not fit
// TEXT: step {{[0-9.]+}} {{ms|µs}}, exposed communication {{[0-9.]+}} {{ms|µs}}, hidden 0 %, peak memory 238.1 MiB
// RUN: python3 %S/Inputs/check-prediction.py %t.json 0 one-stream

// Attention is what the GPU would do: one call in 16 bits, rows in 32.
// RUN: tpsp-run %examples/llama3-8b-block.mlir --grad --simulate --hardware h100-sxm | FileCheck %s --check-prefix=WIDE --implicit-check-not="attention x"
// WIDE: Predicted for h100-sxm
// RUN: tpsp-run %examples/llama3-8b-block.mlir %{on} h100-sxm --attention rows | FileCheck %s --check-prefix=WIDE --implicit-check-not="attention x"

// Sixteen ranks on two nodes.
// RUN: tpsp-run %examples/mlp-sp.mlir %{on} h100-sxm-2node --mesh tp=16 | FileCheck %s --check-prefix=NODES
// NODES: Predicted for h100-sxm-2node

// An older GPU is slower; the same twice.
// RUN: tpsp-run %examples/llama3-8b-block.mlir %{on} a100-sxm --quiet --report %t.a100.json
// RUN: tpsp-run %examples/llama3-8b-block.mlir %{on} h100-sxm --quiet --report %t.again.json
// RUN: python3 %S/Inputs/check-prediction.py %t.json 0 same-as %t.again.json
// RUN: python3 %S/Inputs/check-prediction.py %t.a100.json 0 slower-than %t.json

// A machine from a file, on which nothing fits.
// RUN: echo '{"base": "h100-sxm", "name": "tiny", "memory_bytes": 1000000}' > %t.tiny.json
// RUN: %S/Inputs/exits 3 tpsp-run %examples/mlp-sp.mlir --simulate --hardware %t.tiny.json | FileCheck %s --check-prefix=TINY
// TINY: Predicted for tiny
// TINY: does not fit: {{.*}} needed, 976.6 KiB there

// RUN: tpsp-run %examples/mlp-sp.mlir --simulate | FileCheck %s --check-prefix=CPU
// CPU: Predicted for cpu

// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-sp.mlir %{on} h100-sxm --mesh tp=16 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: {{^}}tpsp-run: h100-sxm has 8 devices (1 nodes of 8), and the mesh has 16 ranks; make the mesh smaller with --mesh, or describe a machine with more "nodes"{{$}}
// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-sp.mlir %{on} h100 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: {{^}}tpsp-run: 'h100' is no built-in hardware (a100-sxm, {{.*}}) and cannot be read as a file: No such file or directory{{$}}
// RUN: echo '{"base": "h100-sxm", "name": "mine", "coers": 1}' > %t.wrong.json
// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-sp.mlir %{on} %t.wrong.json 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: {{^}}tpsp-run: {{.*}}.wrong.json: there is no key 'coers' (did you mean 'cores'?); there are {{.*}}cores{{.*}}(docs/Hardware.md has every key){{$}}
// RUN: echo '{"base": "h100-sxm", "name": "mine", "memory_gbs": NaN}' > %t.nan.json
// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-sp.mlir %{on} %t.nan.json 2>&1 | FileCheck %s --check-prefix=NAN
// NAN: {{^}}tpsp-run: {{.*}}.nan.json: not JSON: line 1, column 52, memory_gbs: found NaN, which is no JSON value here{{$}}
// Files as long as a page and none at all, and brackets without end.
// RUN: python3 -c "t = '{\"base\": \"h100-sxm\"}'; print(t, end=' ' * (4096 - len(t)))" > %t.page.json
// RUN: tpsp-run %examples/mlp-sp.mlir %{on} %t.page.json --quiet
// RUN: echo -n > %t.empty.json
// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-sp.mlir %{on} %t.empty.json 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: not JSON
// RUN: python3 -c "print('{\"name\": ' + '[' * 1000000)" > %t.deep.json
// RUN: %S/Inputs/exits 1 tpsp-run %examples/mlp-sp.mlir %{on} %t.deep.json 2>&1 | FileCheck %s --check-prefix=DEEP
// DEEP: not JSON: name[0]{{.*}}: values are nested more than 64 deep

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --hardware h100-sxm 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: {{^}}tpsp-run: --hardware goes with --simulate, --overlap on, --attention fused, --shard-replicated time or --bucket-layers time; without them nothing asks what things cost{{$}}
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --simulate --verify 2>&1 | FileCheck %s --check-prefix=VERIFY
// VERIFY: {{^}}tpsp-run: --verify needs a run, and --simulate runs nothing; run the program without it{{$}}
