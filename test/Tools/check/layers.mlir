// --layers: every layer is checked alone, from the activations and cotangents
// at its ends. A mistake in one layer is named there, and what follows is right.
// RUN: split-file %s %t
// RUN: cd %t && env PYTHONPATH=%S/../Inputs python3 dumps.py

// RUN: cd %t && tpsp-check model.mlir --numbers right | FileCheck %s --check-prefix=WHOLE
// WHOLE: {{^}}right: {{[0-9]+}} tensors{{$}}
// RUN: cd %t && tpsp-check model.mlir --numbers right --layers --all | FileCheck %s --check-prefix=RIGHT
// RIGHT: {{^}}right: 25 tensors{{$}}
// RIGHT-DAG: act:layer3.z {{.*}} equal{{$}}
// RIGHT-DAG: cot:layer3.z {{.*}} equal{{$}}
// RIGHT-DAG: act:x {{.*}} equal{{$}}
// RIGHT-DAG: cot:x {{.*}} equal{{$}}
// RIGHT-DAG: loss {{.*}} equal{{$}}
// RIGHT-DAG: act:in {{.*}} taken as the program's argument

// Layer 3 counts its summand twice. All later layers are wrong in the whole
// model, and right alone.
// RUN: cd %t && not tpsp-check model.mlir --numbers twice --layers --quiet --json twice.json --html twice.html
// RUN: cd %t && python3 %S/../Inputs/check-page.py twice.html --checks twice.json --model model.mlir
// RUN: cd %t && not tpsp-check model.mlir --numbers twice --layers | FileCheck %s --check-prefix=TWICE
// TWICE: {{^}}wrong: 4 of 25 tensors, by 3 causes{{$}}
// TWICE: {{^}}1. act:layer3.z: the all_reduce of layer3.y over tp is done twice, or multiplied by the ranks{{$}}
// TWICE-NEXT: needs all_reduce of layer3.y over tp
// TWICE-NOT: {{^ *}}or
// TWICE: {{^}}2. grad:layers.3.down, grad:layers.3.up: 2 times too large (the size of tp){{$}}
// TWICE: {{^}}3. cot:layer2.z: the all_reduce of g[layer2.z] over tp is done twice, or multiplied by the ranks{{$}}
// RUN: cd %t && not tpsp-check model.mlir --numbers twice | FileCheck %s --check-prefix=DRIFT
// DRIFT: {{^}}wrong: {{[1-9][0-9]}} of

// A gradient of layer 3, and one of what is left without the layers.
// RUN: cd %t && not tpsp-check model.mlir --numbers factor --layers | FileCheck %s --check-prefix=FACTOR
// FACTOR: {{^}}wrong: 1 of 25 tensors, by 1 cause{{$}}
// FACTOR: {{^}}1. grad:layers.3.down: 2 times too large (the size of tp){{$}}
// RUN: cd %t && not tpsp-check model.mlir --numbers gain --layers | FileCheck %s --check-prefix=GAIN
// GAIN: {{^}}1. grad:gain: 2 times too large (the size of tp){{$}}

// Other names.
// RUN: cd %t && tpsp-check model.mlir --numbers named --layers --names names.json | FileCheck %s --check-prefix=NAMED
// NAMED: {{^}}right: 25 tensors{{$}}

// Stages: ranks have their own layers, and what goes from one to the other.
// RUN: cd %t && sed -e 's/<tp = 2 : model>/<pp = 2 : stage>/' -e 's/e@tp/e/g' model.mlir > staged.mlir
// RUN: cd %t && tpsp-check staged.mlir --numbers staged --layers | FileCheck %s --check-prefix=RIGHT-STAGED
// RIGHT-STAGED: {{^}}right: 25 tensors{{$}}
// RUN: cd %t && not tpsp-check staged.mlir --numbers staged-twice --layers | FileCheck %s --check-prefix=STAGED
// STAGED: {{^}}wrong: 4 of 25 tensors, by 3 causes{{$}}
// STAGED: {{^}}1. act:layer3.z: right but for a term: layer3.y counts 2 times

// Without what a layer takes, nothing is made up.
// RUN: cd %t && not tpsp-check model.mlir --numbers lacks --layers 2>&1 | FileCheck %s --check-prefix=LACKS
// LACKS: tpsp-check: the dump 'lacks' lacks act:layer2.z, without which layer3 cannot be checked alone; record what every layer takes and returns (docs/Check.md)
// RUN: cd %t && not tpsp-check model.mlir --numbers half --layers 2>&1 | FileCheck %s --check-prefix=HALF
// HALF: lacks cot:layer3.z (cot:layer3.z: rank 1 lacks it), without which layer3 cannot

// The norm of all layers' gradients, and updates.
// RUN: cd %t && tpsp-check model.mlir --numbers updated --layers --optimizer sgd --optimizer-settings momentum=0 --all | FileCheck %s --check-prefix=UPDATED
// UPDATED: {{^}}right: 38 tensors{{$}}
// UPDATED-DAG: norm {{.*}} equal{{$}}
// UPDATED-DAG: updated:layers.3.down {{.*}} equal{{$}}
// UPDATED-DAG: updated:shift {{.*}} equal{{$}}
// RUN: cd %t && tpsp-check model.mlir --numbers clipped --layers --optimizer sgd --optimizer-settings momentum=0 --clip 0.125 | FileCheck %s --check-prefix=CLIPPED
// CLIPPED: {{^}}right: 38 tensors{{$}}
// RUN: cd %t && not tpsp-check model.mlir --numbers waits --layers --optimizer sgd --optimizer-settings momentum=0 | FileCheck %s --check-prefix=WAITS
// WAITS: {{^}}wrong: 2 of 38 tensors, by 2 causes{{$}}
// WAITS: {{^}}1. norm: the norm of each rank's own parts: their squares are not added up over tp{{$}}
// WAITS: {{^}}2. updated:layers.3.down: not updated: it is the parameter before the step{{$}}
// RUN: cd %t && not tpsp-check model.mlir --numbers updated --layers | FileCheck %s --check-prefix=WITHOUT
// WITHOUT: {{^}}right so far: 26 tensors; not compared: 13{{$}}
// WITHOUT: {{^}}1. updated:{{.*}}: the program updates no parameters; give --optimizer
// RUN: cd %t && not tpsp-check model.mlir --numbers rateless --layers --optimizer sgd --optimizer-settings momentum=0 2>&1 | FileCheck %s --check-prefix=RATELESS
// RATELESS: the dump 'rateless' lacks act:learning_rate, without which layer0 cannot be checked alone
// RUN: cd %t && not tpsp-check one.mlir --numbers right --layers 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: tpsp-check: @model has no layers that repeat; check it as a whole
// RUN: cd %t && not tpsp-check computed.mlir --numbers right --layers 2>&1 | FileCheck %s --check-prefix=COMPUTED
// COMPUTED: tpsp-check: layer a takes w, which the program computes: its gradient is of all layers
// RUN: cd %t && not tpsp-check model.mlir --numbers right --layers --inputs x.npy 2>&1 | FileCheck %s --check-prefix=INPUTS
// INPUTS: --layers takes all arguments of a layer from the dump; leave one of them out

// A model that is too large is refused with its bytes.
// RUN: cd %t && not tpsp-check model.mlir --numbers loss --extent s=4000000 --extent e=4000000 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: tpsp-check: the unsharded program in f64, and a step of 2 ranks takes at least {{[0-9.]+}} GiB of memory, but {{[0-9.]+}} GiB are available; check it layer by layer (--layers), smaller shapes (--extent), or fewer layers

// The gradient of a parameter of two layers is a sum over them.
// RUN: cd %t && not tpsp-check shared.mlir --numbers shared --layers | FileCheck %s --check-prefix=SHARED
// SHARED: {{^}}right so far: {{[0-9]+}} tensors; not compared: 2{{$}}
// SHARED: {{^}}1. norm: no layer has it alone: several layers read gain, whose gradient is a sum over them
// SHARED: {{^}}2. grad:gain: no layer has it alone

//--- model.mlir
tpsp.program <s = 4, d = 4, e = 6> {
mesh @mesh <tp = 2 : model>
func private @layer(%x: [s, d], param %up "up": [e@tp, d], param %down "down": [d, e@tp]) -> [s, d] {
  %u = einsum %up, %x -> [s, e, ?]
  %y = einsum %down, %u -> [s, d]
  %z = add %x, %y
  return %z
}
func @model(%in: [s, d] {tpsp.frozen}, %wanted: [s, d] {tpsp.frozen}, param %gain: [d], param %shift: [d]) -> [] {
  %x = mul %in, %gain
  %h = repeat 5 @layer(%x) as "layers.#.*"
  %f = add %h, %shift
  %r = sub %f, %wanted
  %q = square %r
  %loss = mean %q -> []
  return %loss
}
}

//--- one.mlir
tpsp.program <s = 4, d = 4> {
mesh @mesh <tp = 2 : model>
func @model(%x: [s, d], param %gain: [d]) -> [s, d] {
  %z = mul %x, %gain
  return %z
}
}

//--- computed.mlir
tpsp.program <s = 4, d = 4> {
mesh @mesh <tp = 2 : model>
func private @layer(%x: [s, d], %w: [d]) -> [s, d] {
  %z = mul %x, %w
  return %z
}
func @model(%x: [s, d], param %gain: [d]) -> [s, d] {
  %w = tanh %gain
  %a = call @layer(%x, %w)
  %b = call @layer(%a, %w)
  return %b
}
}

//--- shared.mlir
tpsp.program <s = 4, d = 4> {
mesh @mesh <tp = 2 : model>
func private @layer(%x: [s, d], param %gain "gain": [d]) -> [s, d] {
  %z = mul %x, %gain
  return %z
}
func @model(%x: [s, d], param %gain: [d]) -> [s, d] {
  %a = call @layer(%x, %gain)
  %b = call @layer(%a, %gain)
  return %b
}
}

//--- names.json
{"model.layers.*": "layer*.z", "model.layers.*.up.weight": {"name": "layers.*.up", "permute": [1, 0]},
 "model.layers.*.down.weight": "layers.*.down"}

//--- dumps.py
import random
from write_dump import cut, scaled, write

N, LAYERS, S, D, E = 2, 5, 4, 4, 6
draw = random.Random(1)


def made(*shape):
    count = 1
    for extent in shape:
        count *= extent
    return list(shape), [draw.uniform(-1, 1) for _ in range(count)]


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


def by_row(a, row, combine):
    return a[0], [combine(value, row[1][i % a[0][1]]) for i, value in enumerate(a[1])]


def column_sums(a):
    (rows, columns), values = a
    return [columns], [sum(values[i * columns + j] for i in range(rows)) for j in range(columns)]


whole = {"act:in": made(S, D), "act:wanted": made(S, D), "param:gain": made(D), "param:shift": made(D)}
for i in range(LAYERS):
    whole |= {f"param:layers.{i}.up": made(E, D), f"param:layers.{i}.down": made(D, E)}


def run(often=()):
    """What the model has, if the sums of some layers count twice."""
    out = dict(whole)
    x = by_row(out["act:in"], out["param:gain"], lambda a, b: a * b)
    taken, hidden = [x], []
    for i in range(LAYERS):
        hidden.append(times(x, out[f"param:layers.{i}.up"]))
        x = added(x, times(hidden[i], out[f"param:layers.{i}.down"]), 2 if i in often else 1)
        out[f"act:layer{i}.z"] = x
        taken.append(x)
    rest = added(by_row(x, out["param:shift"], lambda a, b: a + b), out["act:wanted"], -1)
    out["loss"] = [], [sum(value * value for value in rest[1]) / (S * D)]
    g = rest[0], [2 * value / (S * D) for value in rest[1]]
    out["grad:shift"] = column_sums(g)
    for i in range(LAYERS)[::-1]:
        out[f"cot:layer{i}.z"] = g
        own = g[0], [(2 if i in often else 1) * value for value in g[1]]
        hidden_g = times(own, turned(out[f"param:layers.{i}.down"]))
        out[f"grad:layers.{i}.down"] = times(turned(own), turned(hidden[i]))
        out[f"grad:layers.{i}.up"] = times(turned(hidden_g), turned(taken[i]))
        g = added(g, times(hidden_g, turned(out[f"param:layers.{i}.up"])))
    out |= {"act:x": taken[0], "cot:x": g}
    out["grad:gain"] = column_sums((g[0], [a * b for a, b in zip(g[1], out["act:in"][1])]))
    return out


def save(folder, tensors, left_out=(), rename=lambda name, value: (name, value)):
    for rank in range(N):
        own = {}
        for name, value in tensors.items():
            if name in left_out or (name, rank) in left_out:
                continue
            dim = {"up": 0, "down": 1}.get(name.split(".")[-1])
            name, value = rename(name, value if dim is None else cut(value, dim, N, rank))
            own[name] = value
        write(folder, rank, own, {"tpsp.mesh": f"tp={N}"})


def of_framework(name, value):
    """The names of modules, and a weight that is transposed."""
    role, _, own = name.partition(":")
    if own.endswith(".up"):
        value = turned(value)
    if own.startswith("layers."):
        own = f"model.{own}.weight"
    elif own.startswith("layer"):
        own = "model.layers." + own[5:-2]
    return (f"{role}:{own}" if own else role), value


right = run()
save("right", right)
save("twice", run(often=[3]))
save("factor", right | {"grad:layers.3.down": scaled(right["grad:layers.3.down"], 2)})
save("gain", right | {"grad:gain": scaled(right["grad:gain"], 2)})
save("named", right, rename=of_framework)
save("lacks", right, left_out=["act:layer2.z"])
save("half", right, left_out=[("cot:layer3.z", 1)])

RATE = 0.5
parameters = [name.partition(":")[2] for name in whole if name.startswith("param")]
norm = sum(value * value for name in parameters for value in right[f"grad:{name}"][1]) ** 0.5


def updates(factor):
    new = {f"updated:{name}": added(right[f"param:{name}"], right[f"grad:{name}"], -RATE * factor) for name in parameters}
    return right | new | {"norm": ([], [norm]), "act:learning_rate": ([], [RATE])}


save("updated", updates(1))
save("rateless", updates(1), left_out=["act:learning_rate"])
assert norm > 0.125
save("clipped", updates(0.125 / (norm + 1e-6)))


def own_norm(rank):
    def piece(name):
        dim = {"up": 0, "down": 1}.get(name.split(".")[-1])
        return right[f"grad:{name}"] if dim is None else cut(right[f"grad:{name}"], dim, N, rank)

    return sum(value * value for name in parameters for value in piece(name)[1]) ** 0.5


waits = updates(1) | {"updated:layers.3.down": right["param:layers.3.down"]}
norms = iter([own_norm(rank) for rank in range(N)])
save("waits", waits, rename=lambda name, value: (name, ([], [next(norms)]) if name == "norm" else value))
save("loss", {"loss": right["loss"]})



def stages_of(name):
    """The stages that have a tensor: three layers, and two."""
    layer = next((int(digit) for digit in name.partition("layer")[2] if digit.isdigit()), None)
    if layer is None:
        return [1] if name in ("loss", "act:wanted") or name.endswith("shift") else [0]
    return [0, 1] if layer == 2 and not name.startswith(("param", "grad")) else [layer // 3]


for folder, tensors in (("staged", right), ("staged-twice", run(often=[3]))):
    for rank in range(2):
        write(folder, rank, {name: value for name, value in tensors.items() if rank in stages_of(name)}, {"tpsp.mesh": "pp=2"})

x, gain, g = made(S, D), made(D), made(S, D)
first = by_row(x, gain, lambda a, b: a * b)
back = by_row(g, gain, lambda a, b: a * b)
save("shared", {"act:x": x, "param:gain": gain, "act:a.z": first, "act:b.z": by_row(first, gain, lambda a, b: a * b),
                "cot:b.z": g, "cot:a.z": back, "grad:gain": gain, "norm": ([], [1.0])})
