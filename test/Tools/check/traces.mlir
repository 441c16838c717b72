// Recordings of collectives against the ledger. Buckets, splits, repeated
// gathers and an all_reduce in two halves are no faults. A fault is proven only
// if nothing that is recorded could do the same.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: cd %t && python3 traces.py
// RUN: cd %t && tpsp-check mlp.mlir --trace good_rank_0.json good_rank_1.json good_rank_2.json good_rank_3.json | FileCheck %s --check-prefix=GOOD
// GOOD: {{^}}right: 6 collectives of a step on every rank{{$}}
// RUN: cd %t && tpsp-check mlp.mlir --trace equivalent_rank_0.json | FileCheck %s --check-prefix=SAME
// SAME: {{^}}right: 11 collectives of a step on rank 0 of 4{{$}}
// SAME: note: the reduce_scatter of z is made in 2 calls
// SAME: note: n is gathered once more
// RUN: cd %t && tpsp-check mlp.mlir --trace chrome_rank_0.json | FileCheck %s --check-prefix=CHROME
// CHROME: {{^}}right: 6 collectives of a step on rank 0 of 4{{$}}

// The number of steps is not guessed.
// RUN: cd %t && not tpsp-check mlp.mlir --trace steps_rank_0.json | FileCheck %s --check-prefix=STEPS
// STEPS: {{^}}cannot be told: 1 finding in 6 collectives on rank 0 of 4{{$}}
// STEPS: 1. unknown steps: the recording repeats 3 times and does not say how many steps it has: it is undecided as 1 step, right as 3 steps; say their number with --steps
// RUN: cd %t && tpsp-check mlp.mlir --trace steps_rank_0.json --steps 3 --json - | FileCheck %s --check-prefix=THREE
// THREE: "outcome": "right",
// THREE: "steps": 3,
// RUN: cd %t && not tpsp-check mlp.mlir --trace logs_rank_0.json | FileCheck %s --check-prefix=LOGS
// LOGS: 1. unknown steps: the recording repeats 3 times
// RUN: cd %t && not tpsp-check mlp.mlir --trace good_rank_0.json --steps 7 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: tpsp-check: 'good_rank_0.json' has 6 collectives, and cannot be of 7 steps
// RUN: cd %t && tpsp-check mlp.mlir --trace said_rank_0.json --json - | FileCheck %s --check-prefix=THREE
// RUN: cd %t && not tpsp-check layers.mlir --trace one_rank_0.json | FileCheck %s --check-prefix=LAYERS
// LAYERS: {{^}}wrong: 1 finding in 1 collectives of a step on rank 0 of 4{{$}}
// RUN: cd %t && tpsp-check layers.mlir --trace two_rank_0.json | FileCheck %s --check-prefix=TWO
// TWO: {{^}}right: 2 collectives of a step on rank 0 of 4{{$}}
// RUN: cd %t && not tpsp-check mlp.mlir --trace lost_rank_0.json | FileCheck %s --check-prefix=LOST
// LOST: {{^}}cannot be told: 1 finding
// LOST: unless the recorder's buffer has lost 7 entries before the first one

// RUN: cd %t && not tpsp-check mlp.mlir --trace missing_rank_0.json | FileCheck %s --check-prefix=MISSING
// MISSING: {{^}}wrong: 1 finding in 5 collectives of a step on rank 0 of 4{{$}}
// MISSING: {{^}}1. missing: the all_reduce of g[gain] over tp (8 elements){{$}}
// MISSING-NEXT: needs all_reduce of g[gain] over tp: @tp divides s, which is summed away{{$}}
// MISSING-NEXT: at mlp.mlir:4:8{{$}}
// RUN: cd %t && not tpsp-check mlp.mlir --trace doubled_rank_0.json | FileCheck %s --check-prefix=DOUBLED
// DOUBLED: {{^}}cannot be told: 1 finding
// DOUBLED: {{^}}1. not needed: reduce_scatter of 128 elements over tp
// DOUBLED: unless a sum of what is complete is too large
// DOUBLED: recorded model.py:7
// RUN: cd %t && tpsp-check mlp.mlir --trace dear_rank_0.json | FileCheck %s --check-prefix=DEAR
// DEAR: {{^}}1. other kind: an all_reduce over tp where a reduce_scatter of z does: right, and sends twice as much{{$}}
// RUN: cd %t && not tpsp-check mlp.mlir --trace size_rank_0.json | FileCheck %s --check-prefix=SIZE
// SIZE: {{^}}1. other size: the reduce_scatter of z or g[n] over tp has 128 elements, and the recorded one 64
// RUN: cd %t && not tpsp-check mlp.mlir --trace bits_rank_0.json | FileCheck %s --check-prefix=BITS
// BITS: {{^}}cannot be told:
// BITS: {{^}}1. fewer bits: the reduce_scatter of z adds up in 16 bits, and the program in 32{{$}}
// RUN: cd %t && not tpsp-check mlp.mlir --trace good_rank_0.json order_rank_1.json --steps 1 | FileCheck %s --check-prefix=ORDER
// ORDER: other order: ranks 0 and 1 disagree at call 2 of group mesh_tp: reduce_scatter of 128 elements and all_gather of 128 elements; they will wait for each other

// Groups that the mesh does not have. Two such sums may be one.
// RUN: cd %t && not tpsp-check mlp.mlir --trace group_rank_0.json | FileCheck %s --check-prefix=GROUP
// GROUP: {{^}}cannot be told:
// GROUP: {{^}}1. other group: the reduce_scatter of z or g[n] over tp is over a group that the mesh does not have{{$}}
// RUN: cd %t && tpsp-check mlp.mlir --trace pairs_rank_0.json pairs_rank_1.json pairs_rank_2.json pairs_rank_3.json | FileCheck %s --check-prefix=PAIRS
// PAIRS: {{^}}right: 6 collectives of a step on every rank{{$}}
// PAIRS: note: a sum of 8 elements over tp is made over groups of ranks one after another: another way to the same sum
// RUN: cd %t && not tpsp-check mlp.mlir --trace half_rank_0.json half_rank_1.json half_rank_2.json half_rank_3.json | FileCheck %s --check-prefix=PART
// PART: 1. other group: the all_reduce of g[gain] over tp is over a group that the mesh does not have

// On two axes: sums over one axis after another, and at once.
// RUN: cd %t && tpsp-check two.mlir --trace right_rank_0.json right_rank_1.json right_rank_2.json right_rank_3.json | FileCheck %s --check-prefix=RIGHT
// RIGHT: {{^}}right: 8 collectives of a step on every rank{{$}}
// RUN: cd %t && tpsp-check two.mlir --trace joined_rank_0.json joined_rank_1.json joined_rank_2.json joined_rank_3.json | FileCheck %s --check-prefix=JOINED
// JOINED: {{^}}right: 9 collectives of a step on every rank{{$}}
// JOINED: note: g[gain] is added up over dp and tp in another way than in the program, to the same sum
// RUN: cd %t && not tpsp-check two.mlir --trace right_rank_0.json right_rank_1.json late_rank_2.json late_rank_3.json | FileCheck %s --check-prefix=LATE
// LATE: missing: the sum of g[gain] over tp (16 elements): it is added up over dp alone
// LATE-NEXT: ranks on ranks 2, 3
// RUN: cd %t && not tpsp-check two.mlir --trace ring_rank_0.json ring_rank_1.json ring_rank_2.json ring_rank_3.json | FileCheck %s --check-prefix=RING
// RING: {{^}}cannot be told: 1 finding
// RING: other way: 4 sends and receives over tp (256 elements received) in place of 2 collectives, of n
// RUN: cd %t && not tpsp-check two.mlir --trace ring_rank_0.json right_rank_1.json ring_rank_2.json ring_rank_3.json | FileCheck %s --check-prefix=WAIT
// WAIT: other order: rank 0 sends 2 times to rank 1, which receives 0 times; one will wait

// Files that are something else, and mixed up.
// RUN: cd %t && not tpsp-check mlp.mlir --trace cut_rank_0.json 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: tpsp-check: cannot read 'cut_rank_0.json': it is no JSON object from byte {{[0-9]+}} on: it is cut short or another file
// RUN: cd %t && not tpsp-check mlp.mlir --trace traces.py 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: tpsp-check: cannot read 'traces.py': it is no JSON object from byte 1 on
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

//--- layers.mlir
tpsp.program <b = 8, d = 4, e = 4, f = 4> {
mesh @mesh <dp = 4 : data>
func @layers(%x: [b@dp, d] {tpsp.frozen}, param %v: [e, d], param %w: [f, e]) -> [b@dp, f] {
  %n = einsum %v, %x -> [b@dp, e]
  %z = einsum %w, %n -> [b@dp, f]
  return %z
}
}

//--- two.mlir
tpsp.program <b = 4, s = 8, d = 16, e = 32> {
mesh @mesh <dp = 2 : data, tp = 2 : model>
func @mlp(%x: [b@dp, s@tp, d], param %gain: [d], param %up: [e@tp, d], param %down: [d, e@tp]) -> [b@dp, s@tp, d] {
  %n = mul %x, %gain
  %u = einsum %up, %n -> [b, s, e, ?]
  %a = relu %u
  %z = einsum %down, %a -> [b@dp, s@tp, d]
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


def save(name, calls, ranks=range(4), dtype="Float", extra={}, **changes):
    """Each call is a kind, a shape before and after, and the ranks of its group, if these are not `ranks`."""
    entries, groups = [], {}
    for number, (kind, before, after, *group) in enumerate(calls):
        group = list(group[0] if group else ranks)
        key = "1" if group == list(ranks) else str(group)
        desc = "mesh_tp" if key == "1" else ""
        groups[key] = {"name": key, "desc": desc, "ranks": str(group)}
        frames = [{"name": kind, "filename": "torch/distributed.py", "line": 1},
                  {"name": "f", "filename": "model.py", "line": 7}]
        entries.append({"record_id": number, "process_group": [key, desc],
                        "profiling_name": "nccl:" + kind, "frames": frames,
                        "input_sizes": [before], "output_sizes": [after],
                        "input_dtypes": [dtype], **changes})
    top = {"version": "2.10", "entries": entries, "pg_config": groups, **extra}
    json.dump(top, open(name + ".json", "w"))


for rank in range(4):
    save(f"good_rank_{rank}", CALLS)
save("steps_rank_0", CALLS * 3)
save("logs_rank_0", CALLS * 3 + [("all_reduce", [1], [1])])
save("said_rank_0", CALLS * 3, extra={"steps": 3})
save("lost_rank_0", CALLS[:5], record_id=7)
LAYER = ("all_reduce", [4, 4], [4, 4])
save("one_rank_0", [LAYER], extra={"steps": 1})
save("two_rank_0", [LAYER, LAYER], extra={"steps": 1})
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

save("group_rank_0", [AG, ("_reduce_scatter_base", WHOLE, PART, [0, 2])] + CALLS[2:])
for rank in range(4):
    pair, across = [rank // 2 * 2, rank // 2 * 2 + 1], [rank % 2, rank % 2 + 2]
    save(f"pairs_rank_{rank}", CALLS[:5] + [AR + (pair,), AR + (across,)])
    save(f"half_rank_{rank}", CALLS[:5] + [AR + (pair,)])

# On <dp = 2, tp = 2>.
for rank in range(4):
    tp, dp = [rank // 2 * 2, rank // 2 * 2 + 1], [rank % 2, rank % 2 + 2]
    gather = ("_all_gather_base", [2, 4, 16], [2, 8, 16], tp)
    scatter = ("_reduce_scatter_base", [2, 8, 16], [2, 4, 16], tp)
    weight = ("all_reduce", [16, 16], [16, 16], dp)
    gain, first, then = (("all_reduce", [16], [16], group) for group in (range(4), dp, tp))
    activations = [gather, scatter, gather, gather, scatter]
    save(f"right_rank_{rank}", activations + [weight, weight, gain], [], extra={"steps": 1})
    save(f"joined_rank_{rank}", activations + [weight, weight, first, then], [], extra={"steps": 1})
    save(f"late_rank_{rank}", activations + [weight, weight, first], [], extra={"steps": 1})
    place = rank % 2
    turn = [(f"send {place}->{1 - place}", [2, 4, 16], [2, 4, 16], tp), (f"recv {place}<-{1 - place}", [2, 4, 16], [2, 4, 16], tp)]
    save(f"ring_rank_{rank}", turn + activations[1:3] + turn + activations[4:] + [weight, weight, gain], [], extra={"steps": 1})
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
