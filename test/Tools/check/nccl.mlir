// NCCL's logs against the ledger: several ranks in one file, communicators by
// ids and by splits, and logs that do not say enough.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: cd %t && python3 logs.py

// RUN: cd %t && tpsp-check two.mlir --steps 1 --trace mixed.log | FileCheck %s --check-prefix=RIGHT
// RUN: cd %t && tpsp-check two.mlir --steps 1 --trace nccl.node.201.log nccl.node.203.log nccl.node.200.log nccl.node.202.log | FileCheck %s --check-prefix=RIGHT
// RIGHT: {{^}}right: 8 collectives of a step on every rank{{$}}
// RIGHT-NOT: note: no communicator
// RUN: cd %t && not tpsp-check two.mlir --steps 1 --trace missing.log | FileCheck %s --check-prefix=MISSING
// MISSING: {{^}}wrong: 1 finding in 7 collectives of a step on every rank{{$}}
// MISSING: {{^}}1. missing: the all_reduce of g[gain] over dp and tp (16 elements){{$}}
// RUN: cd %t && not tpsp-check two.mlir --steps 1 --trace group.log | FileCheck %s --check-prefix=GROUP
// GROUP: {{^}}1. other group: the all_reduce of g[down] or g[up] over dp is over tp{{$}}
// RUN: cd %t && not tpsp-check two.mlir --steps 1 --trace order.log | FileCheck %s --check-prefix=ORDER
// ORDER: other order: ranks

// Torch makes communicators when they are first used: that of dp is not the
// world's, though it has all of these ranks.
// RUN: cd %t && tpsp-check two.mlir --mesh dp=4,tp=2 --steps 1 --trace lazy_0.log lazy_2.log lazy_4.log lazy_6.log | FileCheck %s --check-prefix=LAZY
// LAZY: {{^}}right: 9 collectives of a step on ranks 0, 2, 4, 6 of 8{{$}}
// LAZY: note: no communicator of NCCL's log has all 8 ranks: a rank's number is the last one in its file's name

// NCCL's own file names end with the process, which is no rank.
// RUN: cd %t && tpsp-check mlp.mlir --steps 1 --trace pid/nccl.node.200.log pid/nccl.node.201.log pid/nccl.node.202.log pid/nccl.node.203.log | FileCheck %s --check-prefix=PID
// PID: {{^}}right: 6 collectives of a step on every rank{{$}}
// PID: note: no communicator of NCCL's log has all 4 ranks: a rank's number is the place of its file among the given ones
// The files of other kinds have places, too.
// RUN: cd %t && not tpsp-check mlp.mlir --steps 1 --trace recorder.json pid/nccl.node.201.log pid/nccl.node.202.log pid/nccl.node.203.log | FileCheck %s --check-prefix=PLACES
// PLACES: in 6 collectives of a step on every rank{{$}}

// Numbers that no run has.
// RUN: cd %t && not tpsp-check two.mlir --trace large.log 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: tpsp-check: cannot read 'large.log': line {{[0-9]+}}: its communicator has 1125899906842624 ranks; known are 1 to 1048576
// RUN: cd %t && not tpsp-check two.mlir --trace sum.log 2>&1 | FileCheck %s --check-prefix=SUM
// SUM: tpsp-check: 'sum.log': its sends to all ranks have too many elements

// Sends to all ranks are an all_to_all.
// RUN: cd %t && tpsp-check exchange.mlir --forward --steps 1 --trace sends.log | FileCheck %s --check-prefix=SENDS
// SENDS: {{^}}right: 1 collectives of a step on every rank{{$}}

// Without the lines of communicators, groups are known by their sizes, and
// ranks by the files.
// RUN: cd %t && tpsp-check mlp.mlir --steps 1 --trace coll_0.log coll_1.log coll_2.log coll_3.log | FileCheck %s --check-prefix=COLL
// COLL: {{^}}right: 6 collectives of a step on every rank{{$}}
// COLL: note: no communicator of NCCL's log has all 4 ranks: a rank's number is the last one in its file's name
// COLL: note: the logs do not have all ranks of each communicator, or lack its Init COMPLETE: such a group is known by its size alone
// A second sum of a gradient's few elements may be a mistake; other sums of few
// elements are norms and logs.
// RUN: cd %t && not tpsp-check mlp.mlir --steps 1 --trace twice_0.log twice_1.log twice_2.log twice_3.log | FileCheck %s --check-prefix=TWICE
// TWICE: {{^}}cannot be told: 1 finding in 7 collectives of a step on every rank{{$}}
// TWICE: {{^}}1. not needed: all_reduce of 8 elements over tp
// RUN: cd %t && tpsp-check mlp.mlir --steps 1 --trace logged_0.log logged_1.log logged_2.log logged_3.log | FileCheck %s --check-prefix=LOGGED
// LOGGED: {{^}}right: 7 collectives of a step on every rank{{$}}
// RUN: cd %t && not tpsp-check mlp.mlir --steps 1 --trace coll_mixed.log 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: tpsp-check: 'coll_mixed.log' has several processes, and no communicator of all 4 ranks, so that their ranks are not known; log with NCCL_DEBUG_SUBSYS=INIT,COLL from the start, or give each rank a file with its number in the name

// RUN: cd %t && not tpsp-check two.mlir --steps 1 --trace cut.log 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: tpsp-check: cannot read 'cut.log': line {{[0-9]+}}: it has no number as '{{[a-z]+}}'; the log is cut
// RUN: cd %t && not tpsp-check two.mlir --trace init.log 2>&1 | FileCheck %s --check-prefix=INIT
// INIT: tpsp-check: 'init.log' has lines of NCCL, and no collective; log with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL
// RUN: cd %t && not tpsp-check two.mlir --trace other.log 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: tpsp-check: cannot read 'other.log'

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

//--- exchange.mlir
tpsp.program <b = 2, s = 8, h = 8> {
mesh @mesh <cp = 4 : model>
func @f(%x: [b, s@cp, h], param %w: [b, s, h@cp]) -> [b, s, h@cp] {
  %y = mul %x, %w -> [b, s, h@cp]
  return %y
}
}

//--- logs.py
import json
import os
import random

random.seed(0)
SUM, F32 = 0, 7
PLACES = {"AllReduce": 1, "AllGather": 2, "ReduceScatter": 2}


def line(rank, text):
    return f"node:{200 + rank}:{300 + rank} [{rank}] NCCL INFO {text}\n"


def begin(rank, init=True):
    """The communicators: of all ranks, of tp by an id, of dp by a split."""
    dp, tp = divmod(rank, 2)
    world, pair, across = (f"0x{base}{rank}" for base in ("a", "b", "c"))
    device = f"cudaDev {rank} nvmlDev {rank} busId 1b00{rank}"
    lines = [
        line(rank, "NET/Socket : Using [0]eth0:10.0.0.1<0>"),
        line(rank, f"ncclCommInitRank comm {world} rank {rank} nranks 4 {device} commId 0xfeed - Init COMPLETE"),
        line(rank, f"ncclCommInitRank comm {pair} rank {tp} nranks 2 {device} commId 0xbee{dp} - Init COMPLETE"),
        line(rank, f"ncclCommSplit comm {across} rank {dp} nranks 2 {device} parent {world} splitCount 1 color {tp} key {rank} - Init COMPLETE"),
        "epoch 1: loss 0.5\n",
    ]
    return lines if init else lines[:1] + lines[4:]


def call(rank, number, kind, count, comm, size, root=0):
    return line(rank, f"{kind}: opCount {number:x} sendbuff 0x7f01 recvbuff 0x7f02 count {count} datatype {F32} op {SUM} root {root} comm {comm} [nranks={size}] stream 0x55")


def calls(rank, change):
    world, pair, across = (f"0x{base}{rank}" for base in ("a", "b", "c"))
    gather, scatter = ("AllGather", 128, pair, 2), ("ReduceScatter", 128, pair, 2)
    weight, gain = ("AllReduce", 256, across, 2), ("AllReduce", 16, world, 4)
    step = [gather, scatter, gather, gather, scatter, weight, weight, gain]
    if change == "missing":
        step = step[:7]
    if change == "group":
        step[6] = ("AllReduce", 256, pair, 2)
    if change == "order" and rank == 3:
        step[0], step[1] = step[1], step[0]
    return [call(rank, 10 + i, *each) for i, each in enumerate(step)]


def mixed(ranks):
    """The ranks' lines in one file, each rank's in their order."""
    lines, rest = "", [list(each) for each in ranks]
    while any(rest):
        own = random.choice([each for each in rest if each])
        lines += own.pop(0)
    return lines


for change in ["mixed", "missing", "group", "order"]:
    logs = [begin(rank) + calls(rank, change) for rank in range(4)]
    open(change + ".log", "w").write(mixed(logs))
    if change == "mixed":
        for rank in range(4):
            open(f"nccl.node.{200 + rank}.log", "w").writelines(logs[rank])
whole = open("mixed.log").read()
open("cut.log", "w").write(whole[: whole.rindex(" op ")])
open("init.log", "w").writelines(begin(0))
open("other.log", "w").write("epoch 1: loss 0.5\n")

# tp = 4, without the lines of communicators.
step = [("AllGather", 32), ("ReduceScatter", 32), ("AllGather", 32), ("AllGather", 32), ("ReduceScatter", 32), ("AllReduce", 8)]
logs = [begin(rank, False) + [call(rank, i, *each, f"0xa{rank}", 4) for i, each in enumerate(step)] for rank in range(4)]
for rank in range(4):
    open(f"coll_{rank}.log", "w").writelines(logs[rank])
open("coll_mixed.log", "w").write(mixed(logs))
for name, count in [("twice", 8), ("logged", 2)]:
    for rank in range(4):
        open(f"{name}_{rank}.log", "w").writelines(logs[rank] + [call(rank, 6, "AllReduce", count, f"0xa{rank}", 4)])

os.makedirs("pid", exist_ok=True)
for rank in range(4):
    open(f"pid/nccl.node.{200 + rank}.log", "w").writelines(logs[rank])
wide = {"AllGather": ("_all_gather_base", 1, 4), "ReduceScatter": ("_reduce_scatter_base", 4, 1), "AllReduce": ("all_reduce", 1, 1)}
entries = [{"record_id": i, "process_group": ["0", "tp"], "profiling_name": "nccl:" + wide[kind][0], "input_sizes": [[count * wide[kind][1]]],
            "output_sizes": [[count * wide[kind][2]]], "input_dtypes": ["Float"]} for i, (kind, count) in enumerate(step)]
json.dump({"entries": entries, "pg_config": {"0": {"ranks": "[0, 1, 2, 3]"}}}, open("recorder.json", "w"))

# dp = 4, tp = 2: ranks of one place of tp, without a communicator of all ranks.
gather, scatter = ("AllGather", 64, "0xb", 2), ("ReduceScatter", 64, "0xb", 2)
step = [gather, scatter, gather, gather, scatter] + [("AllReduce", count, "0xc", 4) for count in (256, 256, 16)] + [("AllReduce", 16, "0xb", 2)]
for rank in (0, 2, 4, 6):
    device = "cudaDev 0 nvmlDev 0 busId 1b000"
    lines = [line(rank, f"ncclCommInitRank comm 0xb rank 0 nranks 2 {device} commId 0xbee{rank} - Init COMPLETE"),
             line(rank, f"ncclCommInitRank comm 0xc rank {rank // 2} nranks 4 {device} commId 0xdad - Init COMPLETE")]
    open(f"lazy_{rank}.log", "w").writelines(lines + [call(rank, i, *each) for i, each in enumerate(step)])

open("large.log", "w").write(whole.replace("rank 3 nranks 4", f"rank {2**50 - 1} nranks {2**50}"))
open("sum.log", "w").writelines(begin(0) + [call(0, 7, "Send", 2**50, "0xa0", 4, peer) for peer in range(2**13)])

# An all_to_all of [2, 8, 8] over 4 ranks: each sends 8 elements to each.
logs = [
    begin(rank)
    + [call(rank, 7, kind, 8, f"0xa{rank}", 4, peer) for peer in range(4) for kind in ("Send", "Recv")]
    for rank in range(4)
]
open("sends.log", "w").write(mixed(logs))
