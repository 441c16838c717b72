// Tensors that the ranks hold in another way than the program, arguments among
// them.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: cd %t && tpsp-run layer.mlir --grad --quiet --seed 3 --save-all right.safetensors
// RUN: cd %t && env PYTHONPATH=%S/../Inputs python3 dumps.py
// RUN: cd %t && tpsp-run layer.mlir --grad --quiet --seed 3 --inputs rows.safetensors --save-all small.safetensors
// RUN: cd %t && env PYTHONPATH=%S/../Inputs python3 small.py

// The seed of the run is not known here: arguments are the dump's, though it
// divides them otherwise.
// RUN: cd %t && tpsp-check layer.mlir --numbers placed | FileCheck %s --check-prefix=PLACED
// PLACED: {{^}}right: 3 tensors{{$}}
// RUN: cd %t && not tpsp-check layer.mlir --numbers lacking | FileCheck %s --check-prefix=LACKING
// LACKING: note: param:down is not the program's argument, because rank 3 lacks it; random values

// Arguments that a file gives are compared.
// RUN: cd %t && tpsp-check layer.mlir --numbers arguments --seed 3 --weights weights.safetensors | FileCheck %s --check-prefix=WEIGHTS
// WEIGHTS: {{^}}right: 1 tensor{{$}}
// RUN: cd %t && not tpsp-check layer.mlir --numbers other --seed 3 --weights weights.safetensors | FileCheck %s --check-prefix=OTHER
// OTHER: {{^}}1. param:gain: 2 times too large

// A small row that is wrong shows in a stated division, too.
// RUN: cd %t && tpsp-check layer.mlir --numbers cut --seed 3 --inputs rows.safetensors --dtype f32 | FileCheck %s --check-prefix=CUT
// CUT: {{^}}right: 1 tensor{{$}}
// RUN: cd %t && not tpsp-check layer.mlir --numbers small-cut --seed 3 --inputs rows.safetensors | FileCheck %s --check-prefix=SMALL
// SMALL: {{^}}1. grad:up: right but for 1 of 16 positions along e (5)

// A placement moves with the dimensions that a map permutes.
// RUN: cd %t && tpsp-check layer.mlir --numbers permuted --seed 3 --names names.json | FileCheck %s --check-prefix=PERMUTED
// PERMUTED: {{^}}right: 1 tensor{{$}}

//--- names.json
{"*": {"name": "*", "permute": [1, 0]}}

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
from write_dump import cut, read, scaled, write, write_file

N = 4
right = read("right.safetensors")


def save(folder, dump, placements={}):
    for rank, own in enumerate(dump):
        words = {"placement:" + name: f"tp={word}" for name, word in placements.items()}
        write(folder, rank, own, {"tpsp.mesh": "tp=4", "tpsp.coords": f"tp={rank}", **words})


def arguments(rank):
    return {"param:gain": right["gain"], "param:up": cut(right["up"], 1, N, rank), "param:down": cut(right["down"], 0, N, rank),
            "act:x": cut(right["x"], 2, N, rank), "cot:z": right["g[z]"]}


placed = []
for rank in range(N):
    own = {"grad:gain": right["g[gain]"], "grad:up": right["g[up]"], "act:z": cut(right["z"], 1, N, rank)}
    placed.append({**own, **arguments(rank)})
words = {"param:up": "Shard(1)", "param:down": "Shard(0)", "act:x": "Shard(2)"}
save("placed", placed, words)
del placed[3]["param:down"]
save("lacking", placed, words)
save("arguments", [{"param:gain": right["gain"]}] * N)
save("other", [{"param:gain": scaled(right["gain"], 2)}] * N)
write_file("weights.safetensors", {name: right[name] for name in ("gain", "up", "down")})

# A column of down, and so a row of g[up], that is small next to the others.
shape, values = right["down"]
write_file("rows.safetensors", {"down": (shape, [v * (3e-6 if i % shape[1] == 5 else 1) for i, v in enumerate(values)])})

(rows, columns), values = right["g[up]"]
turned = [columns, rows], [values[i * columns + j] for j in range(columns) for i in range(rows)]
save("permuted", [{"grad:up": cut(turned, 0, N, rank)} for rank in range(N)], {"grad:up": "Shard(0)"})

//--- small.py
from write_dump import cut, read, write

shape, values = read("small.safetensors")["g[up]"]
zero = [0.0 if i // shape[1] == 5 else v for i, v in enumerate(values)]
for folder, each in (("cut", list(values)), ("small-cut", zero)):
    for rank in range(4):
        own = {"grad:up": cut((shape, each), 1, 4, rank)}
        write(folder, rank, own, {"tpsp.mesh": "tp=4", "tpsp.coords": f"tp={rank}", "placement:grad:up": "tp=Shard(1)"})
