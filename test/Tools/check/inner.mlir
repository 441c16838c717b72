// Values inside of a program, and their gradients, are compared like its
// results. So a mistake in one of them is named there.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: cd %t && tpsp-run layer.mlir --grad --quiet --save-all right.safetensors
// RUN: cd %t && tpsp-run gathered.mlir --grad --quiet --save-all gathered.safetensors
// RUN: cd %t && env PYTHONPATH=%S/../Inputs python3 dumps.py

// RUN: cd %t && tpsp-check layer.mlir --numbers right | FileCheck %s --check-prefix=RIGHT
// RIGHT: {{^}}right: 11 tensors{{$}}

// Pieces in another order, as of heads after an exchange.
// RUN: cd %t && not tpsp-check layer.mlir --numbers order | FileCheck %s --check-prefix=ORDER
// ORDER: {{^}}wrong: 1 of 11 tensors, by 1 cause{{$}}
// ORDER: {{^}}1. act:u: e in another order: its 3 pieces of 2 are turned by 1{{$}}
// RUN: cd %t && not tpsp-check layer.mlir --numbers reversed | FileCheck %s --check-prefix=REVERSED
// REVERSED: {{^}}1. act:u: e in another order: its 6 pieces of 1 are reversed{{$}}

// A summand that every rank adds before the sum, and one that is not added.
// RUN: cd %t && not tpsp-check layer.mlir --numbers often | FileCheck %s --check-prefix=COUNT
// COUNT: {{^}}1. act:z: right but for a term: w counts 2 times (the size of tp){{$}}
// RUN: cd %t && not tpsp-check layer.mlir --numbers lost | FileCheck %s --check-prefix=LOST
// LOST: {{^}}1. act:z: right but for a term: w is not added{{$}}

// A gradient inside. Summands that are added up later are no mistake, unless
// the dump says that they are copies. Alone they decide nothing.
// RUN: cd %t && not tpsp-check layer.mlir --numbers twice | FileCheck %s --check-prefix=TWICE
// TWICE: {{^}}wrong: 1 of 11 tensors, by 1 cause{{$}}
// TWICE: {{^}}1. cot:u: 2 times too large (the size of tp){{$}}
// RUN: cd %t && tpsp-check layer.mlir --numbers summands --all | FileCheck %s --check-prefix=SUMMANDS
// SUMMANDS: act:y {{.*}} equal: summands over tp, which are added up later{{$}}
// RUN: cd %t && not tpsp-check layer.mlir --numbers stated | FileCheck %s --check-prefix=STATED
// STATED: {{^}}1. act:y: the sum over tp is missing{{$}}
// STATED-NEXT: needs all_reduce of y over tp: @tp divides e, which is summed away{{$}}
// RUN: cd %t && not tpsp-check layer.mlir --numbers summands-alone | FileCheck %s --check-prefix=ALONE
// ALONE: {{^}}1. act:y: the ranks have summands over tp, which may be added up later; dump what follows, or say the placement{{$}}
// RUN: cd %t && not tpsp-check layer.mlir --numbers summands-wrong | FileCheck %s --check-prefix=SUMMANDS-WRONG
// SUMMANDS-WRONG: {{^}}wrong: 2 of 11 tensors
// SUMMANDS-WRONG: {{^}}{{[12]}}. act:y: the sum over tp is missing{{$}}

// What other ranks have does not arrive.
// RUN: cd %t && tpsp-check gathered.mlir --numbers gathered
// RUN: cd %t && not tpsp-check gathered.mlir --numbers zeros | FileCheck %s --check-prefix=ZEROS
// ZEROS: {{^}}1. act:z: the all_gather of x over tp is missing: zeros are in place of other ranks' parts{{$}}

// A residual that every rank adds before the sum. And parts of a weight that
// the other rank should have: of which one, this dump does not tell.
// RUN: cd %t && tpsp-run residual.mlir --grad --quiet --save-all residual.safetensors
// RUN: cd %t && tpsp-run embed.mlir --grad --quiet --save-all embed.safetensors
// RUN: cd %t && env PYTHONPATH=%S/../Inputs python3 dumps.py more
// RUN: cd %t && not tpsp-check residual.mlir --numbers residual | FileCheck %s --check-prefix=RESIDUAL
// RESIDUAL: {{^}}1. act:z: right but for a term: x counts 2 times (the size of tp){{$}}
// RUN: cd %t && not tpsp-check residual.mlir --numbers parts | FileCheck %s --check-prefix=PARTS
// PARTS: {{^}}1. act:z: each rank of tp has the part of up that the other one should have{{$}}
// PARTS: {{^}} or each rank of tp has the part of down that the other one should have{{$}}

// Rows of zeros are no rows in another order.
// RUN: cd %t && tpsp-check embed.mlir --numbers table
// RUN: cd %t && not tpsp-check embed.mlir --numbers untrained | FileCheck %s --check-prefix=UNTRAINED
// UNTRAINED: {{^}}1. grad:table: right but for {{[1-4]}} of 8 positions along v

// A name that the program lacks.
// RUN: cd %t && not tpsp-check layer.mlir --numbers nobody | FileCheck %s --check-prefix=NOBODY
// NOBODY: {{^}}right so far: 11 tensors; not compared: 1{{$}}
// NOBODY: {{^}}1. act:nobody: the program has none of that name

//--- layer.mlir
tpsp.program <s = 4, d = 4, e = 6, f = 3> {
mesh @mesh <tp = 2 : model>
func @layer(%x: [s, d], param %up: [e@tp, d], param %down: [d, e@tp], param %in: [f, d], param %out: [d, f]) -> [s, d] {
  %u = einsum %up, %x -> [s, e, ?]
  %y = einsum %down, %u -> [s, d]
  %v = einsum %in, %x -> [s, f, ?]
  %w = einsum %out, %v -> [s, d]
  %z = add %y, %w
  return %z
}
}

//--- gathered.mlir
tpsp.program <s = 4, d = 4, e = 6> {
mesh @mesh <tp = 2 : model>
func @layer(%x: [s@tp, d], param %up: [e@tp, d]) -> [s, e@tp] {
  %z = einsum %up, %x -> [s, e@tp]
  return %z
}
}

//--- residual.mlir
tpsp.program <s = 4, d = 4, e = 6> {
mesh @mesh <tp = 2 : model>
func @layer(%x: [s, d], param %up: [e@tp, d], param %down: [d, e@tp]) -> [s, d] {
  %u = einsum %up, %x -> [s, e, ?]
  %y = einsum %down, %u -> [s, d]
  %z = add %x, %y
  return %z
}
}

//--- embed.mlir
tpsp.program <s = 6, v = 8, d = 4> {
mesh @mesh <tp = 2 : model>
func @embed(%ids: i32[s] {tpsp.below = 8}, param %table: [v@tp, d]) -> [s, d] {
  %z = embedding %ids, %table {vocabulary = "v"} -> [s, d]
  return %z
}
}

//--- dumps.py
import sys
from write_dump import cut, read, scaled, write

N = 2


def times(a, b):
    """a[i, k] b[j, k], summed over k."""
    (rows, inner), left = a
    (columns, _), right = b
    return [rows, columns], [sum(left[i * inner + k] * right[j * inner + k] for k in range(inner))
                             for i in range(rows) for j in range(columns)]


def turned(a):
    (rows, columns), values = a
    return [columns, rows], [values[i * columns + j] for j in range(columns) for i in range(rows)]


def added(a, b, factor=1):
    return a[0], [x + factor * y for x, y in zip(a[1], b[1])]


def columns(a, order):
    (rows, width), values = a
    return [rows, width], [values[i * width + j] for i in range(rows) for j in order]


def rows(a, kept):
    (count, width), values = a
    return [count, width], [value if i // width in kept else 0 for i, value in enumerate(values)]


def save(folder, dump):
    for rank, own in enumerate(dump):
        write(folder, rank, own, {"tpsp.mesh": f"tp={N}"})


if sys.argv[1:] == ["more"]:
    right = read("residual.safetensors")
    save("residual", [{"act:z": added(right["z"], right["x"])}] * N)
    z = right["x"]
    for rank in range(N):
        z = added(z, times(times(right["x"], cut(right["up"], 0, N, rank)), cut(right["down"], 1, N, 1 - rank)))
    save("parts", [{"act:z": z}] * N)
    table = read("embed.safetensors")["g[table]"]
    save("table", [{"grad:table": cut(table, 0, N, rank)} for rank in range(N)])
    save("untrained", [{"grad:table": scaled(cut(table, 0, N, rank), 1 - rank)} for rank in range(N)])
    sys.exit()

right = read("right.safetensors")
u = times(right["x"], right["up"])
w = times(times(right["x"], right["in"]), right["out"])
cot_u = times(right["g[z]"], turned(right["down"]))


def ranks(**changed):
    out = []
    whole = {"act:u": u, "cot:u": cot_u, "act:w": w, "cot:w": right["g[z]"], "act:z": right["z"],
             "act:y": times(u, right["down"])} | {name.replace("_", ":"): value for name, value in changed.items()}
    for rank in range(N):
        own = dict(whole)
        own |= {name: cut(whole[name], 1, N, rank) for name in ("act:u", "cot:u")}
        own |= {"grad:up": cut(right["g[up]"], 0, N, rank), "grad:down": cut(right["g[down]"], 1, N, rank)}
        own |= {f"grad:{name}": right[f"g[{name}]"] for name in ("in", "out", "x")}
        out.append(own)
    return out


save("right", ranks())
save("order", ranks(act_u=columns(u, [4, 5, 0, 1, 2, 3])))
save("reversed", ranks(act_u=columns(u, range(6)[::-1])))
save("often", ranks(act_z=added(right["z"], w)))
save("lost", ranks(act_z=added(right["z"], w, -1)))
save("twice", ranks(cot_u=scaled(cot_u, 2)))
dump = ranks()
for rank, own in enumerate(dump):
    own["act:y"] = times(own["act:u"], cut(right["down"], 1, N, rank))
save("summands", dump)
save("summands-alone", [{"act:y": own["act:y"]} for own in dump])
for rank, own in enumerate(dump):
    write("stated", rank, own, {"tpsp.mesh": f"tp={N}", "placement:act:y": "tp=Replicate"})
    own["act:z"] = scaled(own["act:z"], 3)
save("summands-wrong", dump)
dump = ranks()
for own in dump:
    own["act:nobody"] = right["z"]
save("nobody", dump)

right = read("gathered.safetensors")
save("gathered", [{"act:z": cut(right["z"], 1, N, rank), "grad:up": cut(right["g[up]"], 0, N, rank)} for rank in range(N)])
dump = []
for rank in range(N):
    own = rows(right["x"], range(2 * rank, 2 * rank + 2))
    dump.append({"act:z": times(own, cut(right["up"], 0, N, rank))})
save("zeros", dump)
