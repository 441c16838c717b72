// Pipelines: every rank has what its stage has, and is compared like others.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: cd %t && tpsp-run model.mlir --micro-batches 2 --grad --quiet --save-all right.safetensors
// RUN: cd %t && env PYTHONPATH=%S/../Inputs python3 dumps.py

// RUN: cd %t && tpsp-check model.mlir --micro-batches 2 --numbers right | FileCheck %s --check-prefix=RIGHT
// RIGHT: {{^}}right: 4 tensors{{$}}
// RIGHT-NOT: note:

// The ranks of a stage lack the parameters of others, as arguments, too.
// RUN: cd %t && tpsp-check model.mlir --micro-batches 2 --numbers own --all | FileCheck %s --check-prefix=OWN
// OWN: {{^}}right: 4 tensors{{$}}
// OWN: param:layers.0.w {{.*}} equal: taken as the program's argument
// OWN: param:layers.1.w {{.*}} equal: taken as the program's argument

// What the stages have of a tied table is not added up.
// RUN: cd %t && not tpsp-check model.mlir --micro-batches 2 --numbers tied | FileCheck %s --check-prefix=TIED
// TIED: {{^}}wrong: 1 of 4 tensors, by 1 cause{{$}}
// TIED: {{^}}1. grad:table: the sum over pp is missing{{$}}

// The last stage's gradients are not averaged over dp.
// RUN: cd %t && not tpsp-check model.mlir --micro-batches 2 --numbers missing | FileCheck %s --check-prefix=MISSING
// MISSING: {{^}}wrong: 1 of 4 tensors, by 1 cause{{$}}
// MISSING: {{^}}1. grad:layers.1.w: the mean over dp is missing{{$}}
// MISSING-NEXT: needs all_reduce of g[layers.1.w] over dp
// MISSING: 32 of 32 elements tell it from right

// A stage halves what it has.
// RUN: cd %t && not tpsp-check model.mlir --micro-batches 2 --numbers half | FileCheck %s --check-prefix=HALF
// HALF: {{^}}1. grad:layers.0.w: 2 times too small (1 over the size of pp, or 1 over the size of dp, or 1 over the number of micro-batches){{$}}

// A rank that should have a tensor and lacks it.
// RUN: cd %t && tpsp-check model.mlir --micro-batches 2 --numbers lacks | FileCheck %s --check-prefix=LACKS
// LACKS: note: grad:layers.1.w is not in the files of rank 3{{$}}

//--- model.mlir
tpsp.program <b = 8, d = 4, d2 = 4, v = 6> {
mesh @mesh <pp = 2 : stage, dp = 2 : data>
func private @layer(%x: [b@dp, d], param %w "w": [d2, d]) -> [b@dp, d] {
  %u = einsum %w, %x -> [b, d2, ?]
  %n = rename %u -> [b, d, ?]
  %y = tanh %n
  return %y
}
func @model(%ids: i32[b@dp] {tpsp.below = 6}, %targets: i32[b@dp] {tpsp.below = 6}, param %table: [v, d]) -> [] {
  %x = embedding %ids, %table {vocabulary = "v"}
  %h = repeat 2 @layer(%x) as "layers.#.*"
  %logits = einsum %table, %h -> [b, v, ?]
  %token = cross_entropy %logits, %targets {over = "v"}
  %loss = mean %token -> []
  return %loss
}
}

//--- dumps.py
from write_dump import read, scaled, write

right = read("right.safetensors")


def ranks():
    """Ranks 0 and 1 are the first stage, ranks 2 and 3 the last one."""
    out = []
    for stage in (0, 0, 1, 1):
        name = f"layers.{stage}.w"
        out.append({f"grad:{name}": right[f"g[{name}]"], "grad:table": right["g[table]"]})
    for own in out[2:]:
        own["loss"] = right["loss"]
    return out


def save(folder, dump):
    for rank, own in enumerate(dump):
        write(folder, rank, own, {"tpsp.mesh": "pp=2,dp=2"})


save("right", ranks())
dump = ranks()
for rank, own in enumerate(dump):
    own |= {f"param:{name}": right[name] for name in ("table", f"layers.{rank // 2}.w")}
save("own", dump)
dump = ranks()
for rank, own in enumerate(dump):
    own["grad:table"] = scaled(own["grad:table"], 0.25 if rank < 2 else 0.75)
save("tied", dump)
dump = ranks()
for rank, own in enumerate(dump[2:]):
    own["grad:layers.1.w"] = scaled(own["grad:layers.1.w"], 0.5 + rank)
save("missing", dump)
dump = ranks()
for own in dump[:2]:
    own["grad:layers.0.w"] = scaled(own["grad:layers.0.w"], 0.5)
save("half", dump)
dump = ranks()
del dump[3]["grad:layers.1.w"]
save("lacks", dump)
