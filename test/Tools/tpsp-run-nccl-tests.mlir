// Descriptions with the links that nccl-tests measured. The files are made up:
// two nodes of eight.
// REQUIRES: tpsp-run
// DEFINE: %{files} = %S/Inputs/nccl-tests
// DEFINE: %{read} = tpsp-run --calibrate --hardware h100-sxm-cluster --nccl-tests

// RUN: %{read} %{files}/all_reduce.txt %{files}/job-1187.out %{files}/point-to-point.log -o %t.mine.json | FileCheck %s --check-prefix=WROTE -DFILE=%t.mine.json
// WROTE: {{^}}Wrote [[FILE]]; use it with --simulate --hardware [[FILE]]{{$}}
// RUN: FileCheck %s --check-prefix=JSON < %t.mine.json
// JSON: "base": "h100-sxm-cluster"
// JSON: "measured": "nccl-tests, in place of other figures: all_reduce of 2x8, reduce_scatter of 2x8, all_gather of 2x8, all_to_all of 2x8, permute of 2x8"
// JSON-NOT: "matmul"
// JSON: "measured_places_us": {
// JSON-NEXT: "2x8": [

// A prediction has the file's time: 64 MiB on 16 ranks, and a launch of 1 us.
// RUN: tpsp-run %s --simulate --hardware %t.mine.json --report %t.report.json | FileCheck %s --check-prefix=STEP
// STEP: Predicted for h100-sxm-cluster with measured links
// STEP: all_reduce {{ *}}x1 {{ *}}629 µs
// RUN: python3 -c "import json, sys; s = json.load(open(sys.argv[1]))['prediction']['kinds']['all_reduce']['seconds']; assert abs(s - 629.05e-6) < 1e-12, s" %t.report.json

// With a quarter of the bandwidth bytes count more than steps. One reduction of
// all gradients has few steps. Tensor parallelism sends fewer bytes here.
// RUN: python3 %{files}/slower.py %{files}/all_reduce.txt 4 > %t.all_reduce.txt
// RUN: python3 %{files}/slower.py %{files}/job-1187.out 4 > %t.job-1187.out
// RUN: python3 %{files}/slower.py %{files}/point-to-point.log 4 > %t.point-to-point.log
// RUN: %{read} %t.all_reduce.txt %t.job-1187.out %t.point-to-point.log -o %t.slow.json
// DEFINE: %{plan} = tpsp-plan %examples/llama3-8b-block.mlir --forget-placements --devices 16 --extent b=16,s=960 --dtype bf16 --optimizer adamw --max-axes 1 --overlap off
// RUN: %{plan} --hardware %t.mine.json | FileCheck %s --check-prefix=MINE
// MINE: {{^ +}}1 ZeRO-1 16 {{ *}}dp=16: b@dp, state @dp
// MINE-NEXT: {{^ +}}2 TP+SP 16 (b@tp e@tp) 
// RUN: %{plan} --hardware %t.slow.json | FileCheck %s --check-prefix=SLOW
// SLOW: {{^ +}}1 TP+SP 16 (b@tp e@tp) {{ *}}tp=16: b@tp, parameters e@tp
// SLOW-NEXT: {{^ +}}2 ZeRO-1 16 

// Without a file for --output the description is printed. One test alone gives
// the other kinds its rate.
// RUN: %{read} %{files}/all_reduce.txt | FileCheck %s --check-prefix=ALONE
// ALONE: "derived": "{{.*}}; between nodes all_gather by all_reduce, reduce_scatter by all_reduce, all_to_all by the adapters' rate, permute by the adapters' rate"

// RUN: %S/Inputs/exits 2 tpsp-run --calibrate --nccl-tests %{files}/all_reduce.txt 2>&1 | FileCheck %s --check-prefix=HARDWARE
// HARDWARE: {{^}}tpsp-run: --nccl-tests needs --hardware: the description of the GPUs, such as h100-sxm-cluster, whose links were measured{{$}}
// RUN: %S/Inputs/exits 2 tpsp-run %s --nccl-tests %{files}/all_reduce.txt 2>&1 | FileCheck %s --check-prefix=CALIBRATE
// CALIBRATE: {{^}}tpsp-run: --nccl-tests goes with --calibrate{{$}}
// RUN: %S/Inputs/exits 2 tpsp-run --calibrate --backend cuda --hardware h100-sxm --nccl-tests %{files}/all_reduce.txt 2>&1 | FileCheck %s --check-prefix=BACKEND
// BACKEND: {{^}}tpsp-run: --backend measures a machine, and --nccl-tests reads what was measured; leave out one{{$}}
// RUN: not tpsp-run --calibrate --hardware h100-sxm --nccl-tests %{files}/all_reduce.txt 2>&1 | FileCheck %s --check-prefix=NODES
// NODES: {{^}}tpsp-run: {{.*}}all_reduce.txt:24: the run has 2 nodes, and h100-sxm has one; give --hardware a description with more "nodes"{{$}}
// RUN: head -30 %{files}/all_reduce.txt > %t.cut.txt && printf '    67108864  16777216  float  s' >> %t.cut.txt
// RUN: not %{read} %t.cut.txt 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: {{^}}tpsp-run: {{.*}}.cut.txt:31: the row has 4 columns, and the heading in line 24 has 13; remove the row{{$}}
// RUN: not %{read} %s.none 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: {{^}}tpsp-run: --nccl-tests: '{{.*}}.none' cannot be read: No such file or directory{{$}}

tpsp.program f32 <n = 16777216, m = 16> {
mesh @mesh <dp = 16 : data>
func @sum(%x: [n, m@dp]) -> [n] {
  %y = reduce %x -> [n]
  return %y
}
}
