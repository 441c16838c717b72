// Dumps that bring their own arguments and names, two dumps without a model, a
// norm, and files that are cut or mixed up.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: cd %t && tpsp-run layer.mlir --grad --quiet --seed 3 --save-all right.safetensors
// RUN: cd %t && tpsp-run layer.mlir --grad --quiet --seed 3 --optimizer sgd --save-all after.safetensors
// RUN: cd %t && env PYTHONPATH=%S/../Inputs python3 dumps.py

// The arguments are the dump's: the seed of the run is not known here.
// RUN: cd %t && tpsp-check layer.mlir --numbers own --all | FileCheck %s --check-prefix=OWN
// OWN: {{^}}right: 5 tensors{{$}}
// OWN: param:up {{.*}} equal: taken as the program's argument
// RUN: cd %t && not tpsp-check layer.mlir --numbers own --seed 3 --inputs x.safetensors | FileCheck %s --check-prefix=OTHER
// OTHER: {{^}}wrong:

// Other names, a fused tensor that is transposed and padded.
// RUN: cd %t && tpsp-check layer.mlir --numbers named --seed 3 --names names.json | FileCheck %s --check-prefix=NAMED
// NAMED: {{^}}right: 3 tensors{{$}}
// RUN: cd %t && not tpsp-check layer.mlir --numbers named --seed 3 --names bad.json 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: tpsp-check: 'bad.json': 'fused.*': there is no key 'transpose'; there are name, padded, permute, reshape, shape, split, unpad, whole (docs/Check.md#names)
// RUN: cd %t && sed 's/"transpose": true/"name": "up", "permute": [1, 1]/' bad.json > twice.json && not tpsp-check layer.mlir --numbers named --seed 3 --names twice.json 2>&1 | FileCheck %s --check-prefix=PERMUTE
// PERMUTE: tpsp-check: 'twice.json': 'fused.*'.permute: expected each dimension from 0 on once
// RUN: cd %t && sed 's/"transpose": true/"split": {"dim": -1, "sizes": [1], "names": ["up"]}/' bad.json > split.json && not tpsp-check layer.mlir --numbers named --seed 3 --names split.json 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT: tpsp-check: 'split.json': 'fused.*'.split.dim: expected a whole number from 0 to 64, not -1
// RUN: cd %t && not tpsp-check layer.mlir --numbers named --seed 3 --names misfit.json 2>&1 | FileCheck %s --check-prefix=MISFIT
// MISFIT: tpsp-check: 'grad:fused.0' of 'named' is [4, 9], which cannot be split along dimension 1 into shares of 2, 5; change its entry in the map of names

// A norm of each rank's own parts, and one that counts copies.
// RUN: cd %t && not tpsp-check layer.mlir --numbers norm --seed 3 | FileCheck %s --check-prefix=NORM
// NORM: norm: the norm of each rank's own parts: their squares are not added up over tp
// RUN: cd %t && not tpsp-check layer.mlir --numbers copies --seed 3 | FileCheck %s --check-prefix=COPIES
// COPIES: norm: the ranks' squares are added up over tp: copies count several times, or parts are left out

// A norm of gradients that were made in bf16.
// RUN: cd %t && not tpsp-check layer.mlir --numbers near-norm --seed 3 | FileCheck %s --check-prefix=NEAR-NORM
// NEAR-NORM: {{^}}1. norm: nearly right: the error is 0.001{{.*}}; did the run compute in a narrower type
// RUN: cd %t && tpsp-check layer.mlir --numbers near-norm --seed 3 --dtype bf16
// RUN: cd %t && not tpsp-check layer.mlir --numbers copies --seed 3 --dtype bf16 | FileCheck %s --check-prefix=COPIES

// Parameters after the update.
// RUN: cd %t && tpsp-check layer.mlir --numbers updated --seed 3 --optimizer sgd | FileCheck %s --check-prefix=UPDATED
// UPDATED: {{^}}right: 3 tensors{{$}}
// RUN: cd %t && not tpsp-check layer.mlir --numbers stale --seed 3 --optimizer sgd | FileCheck %s --check-prefix=STALE
// STALE: {{^}}1. updated:gain: not updated: it is the parameter before the step{{$}}
// RUN: cd %t && not tpsp-check layer.mlir --numbers updated --seed 3 | FileCheck %s --check-prefix=OPTIMIZER
// OPTIMIZER: the program updates no parameters; give --optimizer

// A run in a narrower type, and wrong usage.
// RUN: cd %t && not tpsp-check layer.mlir --numbers near --seed 3 | FileCheck %s --check-prefix=NEAR
// NEAR: {{^}}1. grad:up: nearly right: the error is 0.0{{.*}}; did the run compute in a narrower type
// RUN: cd %t && tpsp-check layer.mlir --numbers near --seed 3 --dtype bf16 | FileCheck %s --check-prefix=BF16
// BF16: {{^}}right: 1 tensor{{$}}
// RUN: cd %t && not tpsp-check layer.mlir 2>&1 | FileCheck %s --check-prefix=USAGE
// USAGE: tpsp-check: nothing is given to check; give the ranks' dump with --numbers, or recordings of collectives with --trace
// RUN: cd %t && not tpsp-check layer.mlir --against own --numbers own 2>&1 | FileCheck %s --check-prefix=MODEL
// MODEL: tpsp-check: --against compares two dumps, and takes no model; leave one of them out

// Two dumps.
// RUN: cd %t && tpsp-check --against own --numbers own | FileCheck %s --check-prefix=TWIN
// TWIN: {{^}}right: 10 tensors{{$}}
// RUN: cd %t && not tpsp-check --against own --numbers half | FileCheck %s --check-prefix=HALF
// HALF: {{^}}wrong: 1 of 10 tensors, by 1 cause{{$}}
// HALF: {{^}}1. grad:up: 4 times too small (1 over the size of tp){{$}}
// RUN: cd %t && not tpsp-check --against own --numbers missing | FileCheck %s --check-prefix=MISSING
// MISSING: {{^}}1. grad:gain: the sum over tp is missing{{$}}

// RUN: cd %t && not tpsp-check layer.mlir --numbers cut 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: tpsp-check: cannot read 'cut/rank1.safetensors': {{.*}} cut short
// RUN: cd %t && not tpsp-check layer.mlir --numbers gap 2>&1 | FileCheck %s --check-prefix=GAP
// GAP: tpsp-check: 'gap' has rank3.safetensors but no rank2.safetensors; every rank writes a file
// RUN: cd %t && not tpsp-check layer.mlir --numbers two 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: tpsp-check: 'two' has files of 2 ranks, and the program's mesh has 4; give the run's mesh with --mesh
// RUN: cd %t && not tpsp-check layer.mlir --numbers mesh 2>&1 | FileCheck %s --check-prefix=MESH
// MESH: tpsp-check: 'mesh' is of a run on the mesh dp=4, and the program's is tp=4; name the program's axes so
// RUN: cd %t && not tpsp-check layer.mlir --numbers mixed 2>&1 | FileCheck %s --check-prefix=MIXED
// MIXED: tpsp-check: 'mixed/rank1.safetensors' has the mesh 'dp=2,tp=2' in its metadata, and 'mixed/rank0.safetensors' 'tp=4'; the files are not of one run
// RUN: cd %t && not tpsp-check layer.mlir --numbers nothing 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: tpsp-check: the files of 'nothing' have no tensors
// RUN: cd %t && not tpsp-check layer.mlir --numbers layer.mlir 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: tpsp-check: 'layer.mlir' is no folder
// RUN: cd %t && not tpsp-check layer.mlir --numbers nan --seed 3 | FileCheck %s --check-prefix=NAN
// NAN: {{^}}1. grad:gain: wrong: 2 elements are not finite, first on rank 2{{$}}
// RUN: cd %t && not tpsp-check layer.mlir --numbers size --seed 3 | FileCheck %s --check-prefix=SIZE
// SIZE: {{^}}1. grad:gain: it is [3], and the program's is [4], of which rank 0 has [4]
// RUN: cd %t && tpsp-check layer.mlir --numbers lacks --seed 3 | FileCheck %s --check-prefix=LACKS
// LACKS: note: grad:gain is not in the files of ranks 1, 2, 3{{$}}

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

//--- names.json
{"fused.*": {"unpad": [4, 8], "permute": [1, 0],
             "split": {"dim": 0, "names": ["up", null], "sizes": [1, 1]}},
 "gain": "gain", "*.gamma": "gain", "junk": null}

//--- bad.json
{"fused.*": {"transpose": true}}

//--- misfit.json
{"fused.*": {"split": {"dim": 1, "names": ["up", "copy.*"], "sizes": [2, 5]}}}

//--- dumps.py
import array
import math
import os
import shutil
from write_dump import cut, read, scaled, write

N = 4
right = read("right.safetensors")
DIMS = {"up": 0, "down": 1, "x": 1}


def ranks(arguments=True):
    out = []
    for rank in range(N):
        own = {"grad:gain": right["g[gain]"]}
        for name, dim in DIMS.items():
            own["grad:" + name] = cut(right[f"g[{name}]"], dim, N, rank)
        own["act:z"] = cut(right["z"], 1, N, rank)
        if arguments:
            own["param:gain"] = right["gain"]
            own["param:up"] = right["up"]
            own["param:down"] = cut(right["down"], 1, N, rank)
            own["act:x"] = cut(right["x"], 1, N, rank)
            own["cot:z"] = cut(right["g[z]"], 1, N, rank)
        out.append(own)
    return out


def save(folder, dump, mesh="tp=4"):
    for rank, own in enumerate(dump):
        write(folder, rank, own, {"tpsp.mesh": mesh, "tpsp.rank": str(rank)})


save("own", ranks())
write(".", 9, {"x": scaled(right["x"], 2)})
os.rename("rank9.safetensors", "x.safetensors")

named = []
for rank in range(N):
    own = ranks(False)[rank]
    (rows, columns), values = own["grad:up"]
    fused = array.array("f")
    for column in range(columns):
        for row in range(rows):
            fused.append(values[row * columns + column])
        fused.extend([5.0] * (9 - rows))
    named.append({"grad:fused.0": ([columns, 9], fused), "grad:norm.gamma": own["grad:gain"],
                  "grad:down": own["grad:down"], "grad:junk": right["x"]})
for own in named:
    del own["grad:norm.gamma"]
    own["grad:0.gamma"] = right["g[gain]"]
# up has 4 rows on a rank, and so has its neighbour in the fused tensor.
save("named", named)


def squares(tensor):
    return sum(value * value for value in tensor[1])


total = 0
norms = []
for own in ranks(False):
    norms.append(sum(squares(own["grad:" + name]) for name in ["gain", "up", "down"]))
save("norm", [{"norm": ([], [math.sqrt(each)])} for each in norms])
save("copies", [{"norm": ([], [math.sqrt(sum(norms))])}] * N)
whole = sum(squares(right[f"g[{name}]"]) for name in ["gain", "up", "down"])
save("near-norm", [{"norm": ([], [1.001 * math.sqrt(whole)])}] * N)

half = ranks()
for own in half:
    own["grad:up"] = scaled(own["grad:up"], 1 / N)
save("half", half)
missing = ranks()
for rank, own in enumerate(missing):
    shape, values = right["g[gain]"]
    own["grad:gain"] = shape, [v * (0.1 + 0.1 * rank) for v in values]
save("missing", missing)

after = read("after.safetensors")
save("updated", [{"updated:" + name: after[name] for name in ["gain", "up", "down"]}] * N)
save("stale", [{"updated:gain": right["gain"], "updated:up": after["up"]}] * N)

near = ranks(False)
for rank, own in enumerate(near):
    shape, values = own["grad:up"]
    noisy = [v * (1 + 0.004 * math.sin(37 * i + rank)) for i, v in enumerate(values)]
    near[rank] = {"grad:up": (shape, noisy)}
save("near", near)

save("cut", ranks())
data = open("cut/rank1.safetensors", "rb").read()
open("cut/rank1.safetensors", "wb").write(data[:-9])
save("gap", ranks())
os.remove("gap/rank2.safetensors")
save("two", ranks()[:2], "tp=2")
save("mesh", ranks(), "dp=4")
save("mixed", ranks())
write("mixed", 1, ranks()[1], {"tpsp.mesh": "dp=2,tp=2"})
save("nothing", [{}] * N)
nan = ranks(False)
nan[2]["grad:gain"] = [4], [float("nan"), float("inf"), 1, 2]
save("nan", nan)
size = ranks(False)
for own in size:
    own["grad:gain"] = [3], [1, 2, 3]
save("size", size)
lacks = ranks(False)
for own in lacks[1:]:
    del own["grad:gain"]
save("lacks", lacks)
