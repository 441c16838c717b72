// Recordings of collectives against the ledger. Buckets, splits, repeated
// gathers and an all_reduce in two halves are no faults.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: cd %t && python3 traces.py
// RUN: cd %t && tpsp-check mlp.mlir --trace good_rank_0.json good_rank_1.json good_rank_2.json good_rank_3.json | FileCheck %s --check-prefix=GOOD
// GOOD: {{^}}right: 6 collectives of a step{{$}}
// RUN: cd %t && tpsp-check mlp.mlir --trace equivalent_rank_0.json | FileCheck %s --check-prefix=SAME
// SAME: {{^}}right: 11 collectives of a step{{$}}
// SAME: note: n is gathered once more
// RUN: cd %t && tpsp-check mlp.mlir --trace steps_rank_0.json --json - | FileCheck %s --check-prefix=STEPS
// STEPS: "steps": 3,
// RUN: cd %t && tpsp-check mlp.mlir --trace chrome_rank_0.json | FileCheck %s --check-prefix=GOOD

// RUN: cd %t && not tpsp-check mlp.mlir --trace missing_rank_0.json | FileCheck %s --check-prefix=MISSING
// MISSING: {{^}}wrong: 1 finding in a step of 5 collectives{{$}}
// MISSING: {{^}}1. missing: the all_reduce of g[gain] over tp (8 elements){{$}}
// MISSING-NEXT: needs all_reduce of g[gain] over tp: @tp divides s, which is summed away{{$}}
// MISSING-NEXT: at mlp.mlir:4:8{{$}}
// RUN: cd %t && not tpsp-check mlp.mlir --trace doubled_rank_0.json | FileCheck %s --check-prefix=DOUBLED
// DOUBLED: {{^}}1. not needed: reduce_scatter of 128 elements over tp
// DOUBLED: recorded model.py:7
// RUN: cd %t && tpsp-check mlp.mlir --trace dear_rank_0.json | FileCheck %s --check-prefix=DEAR
// DEAR: {{^}}1. other kind: an all_reduce over tp where a reduce_scatter of z does: right, and sends twice as much{{$}}
// RUN: cd %t && not tpsp-check mlp.mlir --trace size_rank_0.json | FileCheck %s --check-prefix=SIZE
// SIZE: {{^}}1. other size: the reduce_scatter of z over tp has 128 elements, and the recorded one 64
// RUN: cd %t && not tpsp-check mlp.mlir --trace group_rank_0.json | FileCheck %s --check-prefix=GROUP
// GROUP: {{^}}1. other group: the reduce_scatter of z over tp is over a group that the mesh does not have{{$}}
// RUN: cd %t && not tpsp-check mlp.mlir --trace bits_rank_0.json | FileCheck %s --check-prefix=BITS
// BITS: {{^}}1. fewer bits: the reduce_scatter of z adds up in 16 bits, and the program in 32{{$}}
// RUN: cd %t && not tpsp-check mlp.mlir --trace good_rank_0.json order_rank_1.json | FileCheck %s --check-prefix=ORDER
// ORDER: other order: ranks 0 and 1 disagree at call 2 of group mesh_tp: reduce_scatter of 128 elements and all_gather of 128 elements; they will wait for each other

// Files that are something else, and mixed up.
// RUN: cd %t && not tpsp-check mlp.mlir --trace cut_rank_0.json 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: tpsp-check: cannot read 'cut_rank_0.json': it is no JSON object: it is cut short or another file
// RUN: cd %t && not tpsp-check mlp.mlir --trace traces.py 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: tpsp-check: cannot read 'traces.py': it is no JSON from byte 1 on
// RUN: cd %t && not tpsp-check mlp.mlir --trace nothing_rank_0.json 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: tpsp-check: 'nothing_rank_0.json' has no collective with sizes
// RUN: cd %t && not tpsp-check mlp.mlir --trace good_rank_0.json good_rank_0.json 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: tpsp-check: 'good_rank_0.json' and 'good_rank_0.json' are both of rank 0
// RUN: cd %t && not tpsp-check mlp.mlir --mesh tp=2 --trace good_rank_3.json 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: tpsp-check: 'good_rank_3.json' is of rank 3, and the mesh has 2; give the run's mesh with --mesh
// RUN: cd %t && not tpsp-check mlp.mlir --trace shapes_rank_0.json 2>&1 | FileCheck %s --check-prefix=SHAPES
// SHAPES: tpsp-check: cannot read 'shapes_rank_0.json': entry 1: its input_sizes are no list of shapes

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

//--- traces.py
import json

WHOLE, PART, GAIN = [2, 8, 8], [2, 2, 8], [8]
AG = ("_all_gather_base", PART, WHOLE)
RS = ("_reduce_scatter_base", WHOLE, PART)
AR = ("all_reduce", GAIN, GAIN)
CALLS = [AG, RS, AG, AG, RS, AR]


def save(name, calls, ranks=range(4), dtype="Float", **changes):
    entries = []
    for number, (kind, before, after) in enumerate(calls):
        frames = [{"name": kind, "filename": "torch/distributed.py", "line": 1},
                  {"name": "f", "filename": "model.py", "line": 7}]
        entries.append({"record_id": number, "process_group": ["1", "mesh_tp"],
                        "profiling_name": "nccl:" + kind, "frames": frames,
                        "input_sizes": [before], "output_sizes": [after],
                        "input_dtypes": [dtype], **changes})
    top = {"version": "2.10", "entries": entries,
           "pg_config": {"1": {"name": "1", "desc": "mesh_tp", "ranks": str(list(ranks))}}}
    json.dump(top, open(name + ".json", "w"))


for rank in range(4):
    save(f"good_rank_{rank}", CALLS)
save("steps_rank_0", CALLS * 3)
save("missing_rank_0", CALLS[:5])
save("doubled_rank_0", CALLS[:2] + [RS] + CALLS[2:])
save("dear_rank_0", [AG, ("all_reduce", WHOLE, WHOLE)] + CALLS[2:])
save("size_rank_0", [AG, ("_reduce_scatter_base", [64], [16])] + CALLS[2:])
save("bits_rank_0", CALLS, dtype="BFloat16")
save("order_rank_1", [AG, AG, RS, AG, RS, AR])
save("nothing_rank_0", [("barrier", [1], [1])])
save("shapes_rank_0", CALLS, input_sizes=[["a"]])
# A split reduce_scatter, an all_reduce in two halves, a repeated gather, a
# norm.
HALF = ("_reduce_scatter_base", [64], [16])
save("equivalent_rank_0",
     [AG, HALF, HALF, AG, AG, AG, HALF, HALF, ("all_reduce", [1], [1]),
      ("_reduce_scatter_base", [8], [2]), ("_all_gather_base", [2], [8])])

entries = [json.loads(json.dumps(e)) for e in json.load(open("good_rank_0.json"))["entries"]]
top = json.load(open("good_rank_0.json"))
top["pg_config"]["2"] = {"name": "2", "desc": "odd", "ranks": "[0, 2]"}
top["entries"][1]["process_group"] = ["2", "odd"]
json.dump(top, open("group_rank_0.json", "w"))
open("cut_rank_0.json", "w").write(open("good_rank_0.json").read()[:700])


def elements(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


KINETO = {"_all_gather_base": "_allgather_base", "all_reduce": "allreduce",
          "_reduce_scatter_base": "_reduce_scatter_base"}
events = [{"name": "aten::mm", "cat": "cpu_op", "args": {"Input Dims": [[2, 3]]}}]
for kind, before, after in CALLS:
    events.append({"name": "record_param_comms", "cat": "cpu_op", "ts": 1.5,
                   "args": {"Collective name": KINETO[kind], "dtype": "Float",
                            "In msg nelems": elements(before),
                            "Out msg nelems": elements(after),
                            "In split size": "[]", "Group size": 4,
                            "Process Group Description": "mesh_tp",
                            "Process Group Ranks": "[0, 1, 2, 3]"}})
json.dump({"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": events},
          open("chrome_rank_0.json", "w"))
