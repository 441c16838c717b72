// Times in a recording: measured for each collective, exposed, and against a
// described machine.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: cd %t && python3 times.py

// Collectives take 10 us on rank 0 and 20 us on rank 1. Of each all_gather, 4 us
// are under a matmul.
// RUN: cd %t && tpsp-check mlp.mlir --trace profile_0.json profile_1.json | FileCheck %s --check-prefix=ALONE
// ALONE: {{^}}right: 6 collectives of a step on ranks 0, 1 of 4{{$}}
// ALONE: {{^}}collectives take 90.0 us of a rank's step, 78.0 us of them exposed; name the machine with --hardware for predictions{{$}}
// ALONE: collective times us from to exposed{{$}}
// ALONE-NEXT: all_gather of n over tp 4 15.0 10.0 20.0 11.0
// ALONE: all_reduce of g[gain] over tp 4 15.0 10.0 20.0 15.0

// RUN: cd %t && tpsp-check mlp.mlir --trace profile_0.json profile_1.json --hardware h100-sxm --json times.json --html times.html | FileCheck %s --check-prefix=BOTH
// RUN: cd %t && python3 %S/../Inputs/check-page.py times.html --checks times.json --model mlp.mlir
// RUN: FileCheck %s --check-prefix=JSON < %t/times.json
// BOTH: {{^}}collectives take 90.0 us of a rank's step, 78.0 us of them exposed; predicted on {{.*}}: {{[0-9.]+}} us{{$}}
// BOTH: collective times us from to exposed predicted ratio{{$}}
// BOTH-NEXT: all_gather of n over tp 4 15.0 10.0 20.0 11.0 {{[0-9.]+}} {{[0-9.]+}}
// JSON: "machine": "h100-sxm"
// JSON: "collective": "all_gather of n over tp",
// JSON: "times": 4,
// JSON: "exposed_seconds": {{1.[01][0-9]*e-05}}
// JSON: "predicted_seconds": {{[0-9.]+e-}}

// The flight recorder has no other kernels, so what is exposed is not known.
// RUN: cd %t && tpsp-check mlp.mlir --trace recorder_0.json | FileCheck %s --check-prefix=RECORDER
// RECORDER: {{^}}collectives take 12000.0 us of a rank's step; name the machine
// RECORDER: all_gather of n over tp 1 2000.0 2000.0 2000.0{{$}}

// Several rows in several calls are one line, whose calls count once.
// RUN: cd %t && not tpsp-check mlp.mlir --steps 1 --trace sends_0.json --hardware h100-sxm | FileCheck %s --check-prefix=SENDS
// SENDS: {{^}}collectives take 12000.0 us of a rank's step; predicted on h100-sxm: {{[0-9.]+}} us{{$}}
// SENDS: all_gather of n over tp, and 2 more in 6 calls 1 12000.0 12000.0 12000.0 {{[0-9]+\.[0-9]}}

// RUN: cd %t && not tpsp-check mlp.mlir --trace profile_0.json --hardware nobody 2>&1 | FileCheck %s --check-prefix=NOBODY
// NOBODY: tpsp-check: {{.*}}nobody
// RUN: %S/../Inputs/exits 2 tpsp-check %t/mlp.mlir --numbers %t --hardware cpu 2>&1 | FileCheck %s --check-prefix=GOES
// GOES: tpsp-check: --hardware goes with --trace

//--- mlp.mlir
tpsp.program <b = 2, s = 8, d = 8, e = 32> {
mesh @mesh <tp = 4 : model>
func @mlp(%x: [b, s@tp, d], param %gain: [d], param %up: [e@tp, d], param %down: [d, e@tp]) -> [b, s@tp, d] {
  %n = mul %x, %gain
  %u = einsum %up, %n -> [b, s, e, ?]
  %a = relu %u
  %z = einsum %down, %a -> [b, s@tp, d]
  return %z
}
}

//--- times.py
import json

CALLS = [("_allgather_base", 32, 128), ("_reduce_scatter_base", 128, 32), ("_allgather_base", 32, 128),
         ("_allgather_base", 32, 128), ("_reduce_scatter_base", 128, 32), ("allreduce", 8, 8)]


def profile(rank, length):
    """Two steps. The kernels of rank 1 are in no order. A matmul runs during the last 4 us of each all_gather."""
    events, now = [], 1000.0
    for step in range(2):
        events.append({"name": f"ProfilerStep#{step}", "cat": "user_annotation", "ts": now, "dur": 100})
        for kind, before, after in CALLS:
            args = {"Collective name": kind, "In msg nelems": before, "Out msg nelems": after, "dtype": "Float",
                    "Group size": 4, "Process Group Ranks": "[0, 1, 2, 3]"}
            events.append({"name": "record_param_comms", "cat": "cpu_op", "ts": now - 500, "dur": 3, "args": args})
            events.append({"name": "ncclDevKernel_X(ncclDevKernelArgs)", "cat": "kernel", "ts": now, "dur": length, "args": args})
            if kind == "_allgather_base" :
                events.append({"name": "gemm", "cat": "kernel", "ts": now + length - 4, "dur": 9, "args": {}})
            now += length + 20
    json.dump({"traceEvents": sorted(events, key=lambda e: (e["cat"] == "kernel", -e["ts"] if e["cat"] == "kernel" else e["ts"])) if rank else events, "distributedInfo": {"rank": rank}}, open(f"profile_{rank}.json", "w"))


profile(0, 10)
profile(1, 20)
names = {"_allgather_base": "_all_gather_base", "allreduce": "all_reduce", "_reduce_scatter_base": "_reduce_scatter_base"}
entries = [{"record_id": i, "process_group": ["1", "mesh_tp"], "profiling_name": "nccl:" + names[kind], "input_sizes": [[before]],
            "output_sizes": [[after]], "input_dtypes": ["Float"], "duration_ms": 2} for i, (kind, before, after) in enumerate(CALLS)]
json.dump({"entries": entries, "pg_config": {"1": {"ranks": "[0, 1, 2, 3]"}}}, open("recorder_0.json", "w"))
# All that a step does not add up is sent.
for entry in entries:
    entry["duration_ms"] = 0
turns = [{**entries[0], "profiling_name": name, "input_sizes": [[96]], "output_sizes": [[96]], "duration_ms": 2} for name in ("nccl:send 0->1", "nccl:recv 0<-3")]
json.dump({"entries": turns + entries[1:2] + turns + turns + entries[4:], "pg_config": {"1": {"ranks": "[0, 1, 2, 3]"}}}, open("sends_0.json", "w"))
