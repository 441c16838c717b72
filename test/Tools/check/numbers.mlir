// Dumps of ranks against a layer: each mistake is named, and nothing is wrong
// with a dump that is right.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: cd %t && tpsp-run layer.mlir --grad --quiet --save-all right.safetensors
// RUN: cd %t && env PYTHONPATH=%S/../Inputs python3 dumps.py first
// RUN: cd %t && tpsp-run layer.mlir --grad --quiet --inputs rows.safetensors --save-all small.safetensors
// RUN: cd %t && env PYTHONPATH=%S/../Inputs python3 dumps.py small

// RUN: cd %t && tpsp-check layer.mlir --numbers right | FileCheck %s --check-prefix=RIGHT
// RIGHT: {{^}}right: 5 tensors{{$}}

// RUN: cd %t && not tpsp-check layer.mlir --numbers missing | FileCheck %s --check-prefix=MISSING
// MISSING: {{^}}wrong: 1 of 5 tensors, by 1 cause{{$}}
// MISSING: {{^}}1. grad:gain: the mean over tp is missing{{$}}
// MISSING-NEXT: needs all_reduce of g[gain] over tp: @tp divides s, which is summed away{{$}}
// MISSING-NEXT: at layer.mlir:4:8{{$}}
// MISSING-NEXT: rule I6, C1 (docs/Spec.md)
// MISSING-NEXT: evidence error {{.*}}; 16 of 16 elements tell it from right

// Tensors that are right stay so if others are wrong.
// RUN: cd %t && not tpsp-check layer.mlir --numbers missing --all | FileCheck %s --check-prefix=ALL
// ALL: grad:up {{.*}} equal{{$}}
// ALL: grad:gain {{.*}} missing: the mean over tp is missing{{$}}

// RUN: cd %t && not tpsp-check layer.mlir --numbers factor | FileCheck %s --check-prefix=FACTOR
// FACTOR: {{^}}1. grad:up: 4 times too large (the size of tp){{$}}

// One cause for two gradients: a collective before both.
// RUN: cd %t && not tpsp-check layer.mlir --numbers cause | FileCheck %s --check-prefix=CAUSE
// CAUSE: {{^}}wrong: 2 of 5 tensors, by 1 cause{{$}}
// CAUSE: {{^}}1. grad:x, grad:gain: the reduce_scatter of g[n] over tp is done twice, or multiplied by the ranks{{$}}

// RUN: cd %t && not tpsp-check layer.mlir --numbers shard | FileCheck %s --check-prefix=SHARD
// SHARD: {{^}}1. grad:down: the parts of other ranks: rank 0 has rank 1's, rank 1 has rank 2's, rank 2 has rank 3's, rank 3 has rank 0's{{$}}

// RUN: cd %t && not tpsp-check layer.mlir --numbers rows | FileCheck %s --check-prefix=ROWS
// ROWS: {{^}}1. grad:up: right but for 2 of 16 positions along e (3 to 4){{$}}

// RUN: cd %t && not tpsp-check layer.mlir --numbers decay | FileCheck %s --check-prefix=DECAY
// DECAY: {{^}}1. grad:gain: right but for a term: 0.5 times gain has been added{{$}}

// RUN: cd %t && not tpsp-check layer.mlir --numbers wrong --json - | FileCheck %s --check-prefix=JSON
// JSON: "right": false
// JSON: "tensor": "grad:up",
// JSON-NEXT: "kind": "wrong"

// A norm, whole tensors on all ranks, and a tensor that the program lacks.
// RUN: cd %t && not tpsp-check layer.mlir --numbers whole --all | FileCheck %s --check-prefix=WHOLE
// WHOLE: {{^}}right so far: 2 tensors; not compared: 1{{$}}
// WHOLE: {{^}}1. grad:nobody: the program has none of that name; map names by --names

// A row that is small beside the others and wrong; a dump of arguments alone;
// a gradient that is divided along another dimension.
// RUN: cd %t && not tpsp-check layer.mlir --numbers small --inputs rows.safetensors | FileCheck %s --check-prefix=SMALL
// SMALL: {{^}}1. grad:up: right but for 1 of 16 positions along e (5), first on rank 0: they are small beside the others
// RUN: cd %t && not tpsp-check layer.mlir --numbers small-alone --inputs rows.safetensors | FileCheck %s --check-prefix=SMALL
// RUN: cd %t && not tpsp-check layer.mlir --numbers not-finite | FileCheck %s --check-prefix=FINITE
// FINITE: param:gain: the program has numbers that are not finite, which decide nothing
// RUN: cd %t && tpsp-check layer.mlir --numbers small-right --inputs rows.safetensors | FileCheck %s --check-prefix=RIGHT
// RUN: cd %t && not tpsp-check layer.mlir --numbers arguments | FileCheck %s --check-prefix=ARGUMENTS
// ARGUMENTS: {{^}}nothing was compared: the dump has arguments alone{{$}}
// RUN: cd %t && not tpsp-check layer.mlir --numbers otherwise | FileCheck %s --check-prefix=OTHERWISE
// OTHERWISE: {{^}}1. grad:up: the right numbers, d divided by tp; the program has [e@tp, d].

//--- layer.mlir
tpsp.program <b = 2, s = 8, d = 4, e = 16> {
mesh @mesh <tp = 4 : model>
func @mlp(%x: [b, s@tp, d], param %gain: [d], param %up: [e@tp, d], param %down: [d, e@tp]) -> [b, s@tp, d] {
  %n = mul %x, %gain
  %u = einsum %up, %n -> [b, s, e, ?]
  %a = relu %u
  %z = einsum %down, %a -> [b, s@tp, d]
  return %z
}
}

//--- dumps.py
import sys
from write_dump import cut, read, scaled, write, write_file

N = 4
right = read("right.safetensors" if sys.argv[1] == "first" else "small.safetensors")
DIMS = {"up": 0, "down": 1, "x": 1}


def ranks():
    """What the ranks have if all is right."""
    out = []
    for rank in range(N):
        own = {"grad:gain": right["g[gain]"]}
        for name, dim in DIMS.items():
            own["grad:" + name] = cut(right[f"g[{name}]"], dim, N, rank)
        own["act:z"] = cut(right["z"], 1, N, rank)
        out.append(own)
    return out


def save(folder, dump):
    for rank, own in enumerate(dump):
        write(folder, rank, own, {"tpsp.mesh": "tp=4", "tpsp.coords": f"tp={rank}"})


if sys.argv[1] == "small":
    save("small-right", ranks())
    dump = ranks()
    dump[1]["grad:up"][1][4:8] = type(right["x"][1])("f", [0] * 4)
    save("small", dump)
    save("small-alone", [{"grad:up": own["grad:up"]} for own in dump])
    sys.exit()
save("right", ranks())
dump = ranks()
x, gz = right["x"], right["g[gain]"]
for rank, own in enumerate(dump):
    # Other summands than the program's, whose mean is right.
    shape, values = right["g[gain]"]
    own["grad:gain"] = shape, [v * (0.4 + 0.4 * rank) for v in values]
save("missing", dump)
dump = ranks()
for own in dump:
    own["grad:up"] = scaled(own["grad:up"], N)
save("factor", dump)
dump = ranks()
for own in dump:
    for name in ["grad:x", "grad:gain"]:
        own[name] = scaled(own[name], N)
save("cause", dump)
dump = ranks()
for rank, own in enumerate(dump):
    own["grad:down"] = ranks()[(rank + 1) % N]["grad:down"]
save("shard", dump)
dump = ranks()
dump[0]["grad:up"][1][12:16] = type(right["x"][1])("f", [7] * 4)
dump[1]["grad:up"][1][0:4] = type(right["x"][1])("f", [7] * 4)
save("rows", dump)
dump = ranks()
for own in dump:
    shape, values = own["grad:gain"]
    own["grad:gain"] = shape, [v + 0.5 * w for v, w in zip(values, right["gain"][1])]
save("decay", dump)
dump = ranks()
for own in dump:
    shape, values = own["grad:up"]
    own["grad:up"] = shape, [v * v + 1 for v in values]
save("wrong", dump)
save(
    "whole",
    [{"up": right["g[up]"], "down": right["g[down]"], "nobody": right["x"]}] * N,
)
# down with a column, and so a row of g[up], that is small beside the others.
shape, values = right["down"]
small = [v * (3e-6 if i % shape[1] == 5 else 1) for i, v in enumerate(values)]
write_file("rows.safetensors", {"down": (shape, small)})
dump = [{} for _ in range(N)]
for rank, own in enumerate(dump):
    own["param:gain"] = right["gain"]
    own["act:x"] = cut(right["x"], 1, N, rank)
save("arguments", dump)
for own in dump:
    own["param:gain"] = scaled(right["gain"], float("nan"))
    own["grad:gain"] = scaled(right["gain"], float("nan"))
save("not-finite", dump)
dump = ranks()
for rank, own in enumerate(dump):
    own["grad:up"] = cut(right["g[up]"], 1, N, rank)
save("otherwise", dump)
