// Labels that do not count: a loss over the targets that are not negative, on
// meshes that divide the batch, the sequence and the vocabulary. A rank has no
// label, or none has.
// REQUIRES: tpsp-run, numpy
// RUN: rm -rf %t && split-file %s %t
// RUN: cd %t && python3 labels.py

// The unsharded program in f64 has the mean that numpy computes.
// RUN: cd %t && tpsp-run loss.mlir --mesh dp=1 --grad --verify --inputs some.safetensors --report one.json --quiet
// RUN: cd %t && tpsp-run loss.mlir --grad --verify --inputs some.safetensors --report three.json --quiet
// RUN: cd %t && tpsp-run loss.mlir --mesh dp=2,cp=2,tp=2 --grad --verify --inputs some.safetensors --report eight.json --quiet
// RUN: cd %t && python3 check.py some.safetensors one.json three.json eight.json
// RUN: cd %t && tpsp-run loss.mlir --mesh dp=3,tp=2 --grad --verify --inputs none.safetensors --report none.json --save-all none-all.safetensors --quiet
// RUN: cd %t && python3 check.py none.safetensors none.json
// RUN: cd %t && python3 zeros.py none-all.safetensors
// RUN: cd %t && tpsp-run loss.mlir --mesh dp=3 --grad --verify --pad s=4 --inputs some.safetensors --report padded.json --quiet
// RUN: cd %t && python3 check.py some.safetensors padded.json

// Rows whose logits are infinite do not count either.
// RUN: cd %t && tpsp-run loss.mlir --mesh dp=3 --grad --inputs infinite.safetensors --report infinite.json --quiet
// RUN: cd %t && python3 check.py some.safetensors infinite.json

// A whole step, whose update ranks divide.
// RUN: cd %t && tpsp-run loss.mlir --mesh dp=3,tp=2 --grad --verify --inputs some.safetensors --optimizer adamw --optimizer-axes dp --clip 1 --steps 2 --quiet
// A count in bf16 would be a multiple of 2 from 256 on.
// RUN: cd %t && tpsp-run loss.mlir --dtype bf16 --extent s=102 --grad --verify --inputs long.safetensors --report long.json --quiet
// RUN: cd %t && python3 check.py long.safetensors long.json 2e-3

// The count needs 4 bytes of each axis that divides labels, and waits for no
// logits.
// RUN: tpsp-opt %t/loss.mlir --tpsp-explain=grad | FileCheck %s
// CHECK: loss{{.*}} = reduce(loss.label_mask
// CHECK-NEXT: all_reduce
// CHECK-NEXT: over dp,cp, {{[0-9]+}} B per rank

// With micro-batches the labels of all are counted before the first, whether one
// stands for all or each is written out. Some micro-batches have no label.
// RUN: cd %t && tpsp-run loss.mlir --mesh dp=1 --grad --verify --micro-batches 6 --inputs some.safetensors --report m6.json --quiet
// RUN: cd %t && tpsp-run loss.mlir --grad --verify --micro-batches 2 --inputs some.safetensors --report m2.json --quiet
// RUN: cd %t && tpsp-run loss.mlir --mesh dp=2,cp=2,tp=2 --grad --verify --micro-batches 3 --inputs some.safetensors --report m3.json --quiet
// RUN: cd %t && tpsp-run loss.mlir --mesh dp=2,cp=2,tp=2 --grad --verify --micro-batches 3 --overlap on --inputs some.safetensors --report overlap.json --quiet
// RUN: cd %t && python3 check.py some.safetensors m6.json m2.json m3.json overlap.json
// RUN: cd %t && tpsp-run loss.mlir --mesh dp=3,tp=2 --grad --verify --micro-batches 2 --inputs none.safetensors --save-all none-all.safetensors --quiet
// RUN: cd %t && python3 zeros.py none-all.safetensors
// RUN: cd %t && tpsp-run loss.mlir --mesh dp=3,tp=2 --grad --verify --micro-batches 2 --inputs some.safetensors --optimizer adamw --optimizer-axes dp --clip 1 --steps 2 --quiet
// A count is reduced once a step; the ledger has "x2" for every micro-batch.
// RUN: cd %t && tpsp-run loss.mlir --grad --micro-batches 2 | FileCheck %s --check-prefix=ONCE
// ONCE: forward all_reduce dp,cp 5 B loss.reduce
// ONCE: forward all_reduce x2 10 B

// A sum of a parameter's values is complete only after the last micro-batch.
// RUN: cd %t && sed 's/mean .each, .targets/mean %each/; s/return .loss/%r = sqrt %loss\n  return %r/' loss.mlir > root.mlir
// RUN: cd %t && not tpsp-run root.mlir --grad --micro-batches 2 --quiet 2>&1 | FileCheck %s --check-prefix=ROOT
// ROOT: is a sum over 'b', which is complete only after the last micro-batch, and 'tpsp.sqrt' is not linear in it

// A mask of numbers, whose sum a loss is divided by.
// RUN: cd %t && tpsp-run mask.mlir --grad --verify --micro-batches 2 --quiet
// RUN: cd %t && tpsp-run mask.mlir --mesh dp=3,cp=2 --grad --verify --micro-batches 2 --quiet

// A sum of inputs by which another is multiplied; a result that is returned twice.
// RUN: cd %t && tpsp-run sums.mlir --grad --verify --micro-batches 3 --quiet
// RUN: cd %t && tpsp-run sums.mlir --grad --verify --micro-batches 3 --overlap on --quiet

// A count that another makes; counts that are made again in the backward pass.
// RUN: cd %t && tpsp-run nested.mlir --grad --verify --micro-batches 2 --quiet
// RUN: %if nightly %{ cd %t && tpsp-run nested.mlir --mesh dp=2 --grad --verify --micro-batches 4 --quiet %}
// RUN: cd %t && tpsp-run divided.mlir --grad --verify --micro-batches 2 --rematerialize full --quiet
// RUN: %if nightly %{ cd %t && tpsp-run divided.mlir --grad --verify --micro-batches 4 --rematerialize selective --quiet %}

// Stages have their counts where the loss is.
// RUN: cd %t && sed -e 's/mean %%token/mean %%token, %%targets/' %examples/pp.mlir > pp.mlir
// RUN: cd %t && python3 stages.py
// RUN: cd %t && tpsp-run pp.mlir --grad --verify --micro-batches 8 --inputs stages/targets.npy --report pp8.json --quiet
// RUN: %if nightly %{ cd %t && tpsp-run pp.mlir --grad --verify --micro-batches 4 --mesh pp=4,tp=1 --optimizer adamw --clip 1 --inputs stages/targets.npy --quiet %}
// RUN: cd %t && tpsp-run pp.mlir --grad --verify --micro-batches 4 --mesh pp=2,tp=1 --stage-chunks 2 --stage-schedule zero-bubble --inputs stages/targets.npy --quiet
// RUN: cd %t && tpsp-run pp.mlir --grad --micro-batches 1 --mesh pp=1,tp=1 --inputs stages/targets.npy --report pp1.json --quiet
// RUN: cd %t && python3 equal.py pp8.json pp1.json

// Only labels may be negative, and a mean that ignores them divides by all.
// RUN: cd %t && not tpsp-run ids.mlir --inputs targets.npy --quiet 2>&1 | FileCheck %s --check-prefix=IDS
// IDS: element 0 of 'targets' is -100, and its integers are from 0 to 11
// RUN: cd %t && sed 's/, .targets -> / -> /' loss.mlir > all.mlir
// RUN: cd %t && tpsp-run all.mlir --grad --verify --inputs some.safetensors --report all.json --quiet
// RUN: cd %t && not python3 check.py some.safetensors all.json

// An axis divides another index of the labels than of what they count.
// RUN: cd %t && tpsp-run otherwise.mlir --grad --verify --quiet
// RUN: cd %t && tpsp-run otherwise.mlir --grad --verify --quiet --dtype bf16

//--- loss.mlir
tpsp.program <b = 6, s = 6, v = 12, d = 5> {
mesh @mesh <dp = 3 : data, cp = 1 : model, tp = 1 : model>
func @f(%x: [b@dp, s@cp, d], %targets: i32[b@dp, s@cp], param %w: [v@tp, d]) -> [] {
  %logits = einsum %w, %x -> [b, s, v, ?]
  %each = cross_entropy %logits, %targets {over = "v"}
  %loss = mean %each, %targets -> []
  return %loss
}
}

//--- ids.mlir
tpsp.program <b = 6, s = 6, v = 12, d = 5> {
mesh @mesh <dp = 3 : data>
func @f(%targets: i32[b@dp, s], param %w: [v, d]) -> [b@dp, s, d] {
  %x = embedding %targets, %w {vocabulary = "v"}
  return %x
}
}

//--- mask.mlir
tpsp.program <b = 6, s = 6, v = 12, d = 5> {
mesh @mesh <dp = 1 : data, cp = 1 : model>
func @f(%x: [b@dp, s@cp, d], %y: [b@dp, s@cp, v], %mask: [b@dp, s@cp], param %w: [v, d]) -> [] {
  %z = einsum %w, %x -> [b, s, v, ?]
  %difference = sub %z, %y
  %square = square %difference
  %each = reduce %square {kind = "sum"} -> [b, s, ?]
  %given = stop_gradient %mask
  %weight = square %given
  %masked = mul %each, %weight
  %total = reduce %masked {kind = "sum"} -> []
  %count = reduce %weight {kind = "sum"} -> []
  %one = constant {value = 1.0} -> []
  %share = div %one, %count
  %loss = mul %total, %share
  return %loss
}
}

//--- sums.mlir
tpsp.program <b = 6, d = 5> {
mesh @mesh <dp = 2 : data>
func @f(%x: [b@dp, d], param %w: [d]) -> ([], [], [d]) {
  %given = stop_gradient %x
  %sum = reduce %given {kind = "sum"} -> [d]
  %scaled = mul %w, %sum
  %loss = einsum %scaled, %x -> []
  return %loss, %loss, %sum
}
}

//--- nested.mlir
tpsp.program <b = 8, d = 5> {
mesh @mesh <dp = 1 : data>
func @f(%x: [b@dp, d], %m: [b@dp, d], param %w: [d]) -> [] {
  %g = stop_gradient %m
  %c = reduce %g {kind = "sum"} -> [d]
  %sc = mul %g, %c
  %c2 = reduce %sc {kind = "sum"} -> []
  %c3 = scale %c2 {factor = 0.01}
  %s = sigmoid %c3
  %t = einsum %w, %x -> [b]
  %q = square %t
  %tot = reduce %q {kind = "sum"} -> []
  %loss = mul %tot, %s
  return %loss
}
}

//--- divided.mlir
tpsp.program <b = 8, d = 6, e = 6> {
mesh @mesh <dp = 2 : data>
func @f(%x: [b@dp, d], %m: [b@dp], param %w: [d, e]) -> [] {
  %g = stop_gradient %m
  %sq = square %g
  %c = reduce %sq {kind = "sum"} -> []
  %r = sqrt %c
  %y = einsum %x, %w -> [b, e]
  %z = div %y, %r
  %q = tanh %z
  %loss = reduce %q {kind = "sum"} -> []
  return %loss
}
}

//--- stages.py
import os
import numpy as np

random = np.random.default_rng(8)
targets = random.integers(0, 96, (8, 16)).astype(np.int32)
targets[random.random((8, 16)) < 0.3] = -100
targets[2] = -100
os.mkdir("stages")
np.save("stages/targets.npy", targets)

//--- equal.py
import json, sys

a, b = (json.load(open(name))["scalars"]["loss"] for name in sys.argv[1:])
assert abs(a - b) <= 1e-6 * abs(a), (a, b)

//--- labels.py
import numpy as np
from safetensors.numpy import save_file

random = np.random.default_rng(7)


def labels(s):
    targets = random.integers(0, 12, (6, s)).astype(np.int32)
    targets[random.random((6, s)) < 0.4] = -100
    return targets


def save(name, targets, x=None):
    if x is None:
        x = random.standard_normal((*targets.shape, 5)).astype(np.float32)
    save_file({"x": x, "targets": targets, "w": w}, name)
    return x


w = random.standard_normal((12, 5)).astype(np.float32)
some = labels(6)
some[2:4] = -1  # all of the second rank of three
some[0, 0] = -100
np.save("targets.npy", some)
x = save("some.safetensors", some)
x[some < 0] = np.inf
save("infinite.safetensors", some, x)
save("none.safetensors", np.full((6, 6), -100, np.int32))
save("long.safetensors", labels(102))

//--- check.py
import json, sys
import numpy as np
from safetensors.numpy import load_file

data = load_file(sys.argv[1])
tolerance = float(sys.argv.pop()) if sys.argv[-1][0].isdigit() else 1e-6
logits = data["x"].astype(float) @ data["w"].astype(float).T
each = np.log(np.exp(logits).sum(-1))
counted = data["targets"] >= 0
each -= np.take_along_axis(logits, data["targets"][..., None] * counted[..., None], -1)[..., 0]
expected = each[counted].sum() / max(counted.sum(), 1)
for report in sys.argv[2:]:
    loss = json.load(open(report))["scalars"]["loss"]
    assert abs(loss - expected) <= tolerance * max(expected, 1), (report, loss, expected)

//--- zeros.py
import sys
from safetensors.numpy import load_file

gradients = {n: g for n, g in load_file(sys.argv[1]).items() if n in ("g[w]", "g[x]")}
assert len(gradients) == 2 and not any(g.any() for g in gradients.values()), gradients

//--- otherwise.mlir
tpsp.program <a = 6, b = 8, c = 3, f = 2> {
mesh @mesh <tp = 2 : model, cp = 3 : data>
func @f(%x: [a@cp, b, c, f@tp], %labels: i32[a, b@tp, f] {tpsp.data = "labels"}) -> [b, c, f] {
  %z = mean %x, %labels -> [b, c, f]
  return %z
}
}
