// Muon orthogonalises whole matrices. Ranks that take their part for the whole
// matrix are named, also if the program divides no state.
// RUN: split-file %s %t
// RUN: cd %t && env PYTHONPATH=%S/../Inputs python3 dumps.py

// RUN: cd %t && tpsp-check dp.mlir --numbers right --optimizer muon --optimizer-settings momentum=0,decay=0.5 | FileCheck %s --check-prefix=RIGHT
// RIGHT: {{^}}right: 2 tensors{{$}}
// RUN: cd %t && not tpsp-check dp.mlir --numbers parts --optimizer muon --optimizer-settings momentum=0,decay=0.5 | FileCheck %s --check-prefix=PARTS
// PARTS: {{^}}1. updated:w: each rank of dp updates its part as if it were the whole matrix, and the update is 1.414 times too small, but for the decay (1 over the root of the size of dp){{$}}
// PARTS-NEXT: needs all_reduce of w over dp
// PARTS: note: updated:w is explained by a step whose optimizer's state dp divides (--optimizer-axes)
// RUN: cd %t && not tpsp-check tp.mlir --numbers parts-in-length --optimizer muon --optimizer-settings momentum=0,decay=0.5 | FileCheck %s --check-prefix=LENGTH
// LENGTH: {{^}}1. updated:w: each rank of tp updates its part as if it were the whole matrix{{$}}
// LENGTH-NOT: note:

// An update of another length.
// RUN: cd %t && not tpsp-check tp.mlir --numbers published --optimizer muon --optimizer-settings momentum=0,decay=0.5 | FileCheck %s --check-prefix=PUBLISHED
// PUBLISHED: {{^}}1. updated:w: the update is 2.5 times too large, but for the decay (scaled by sqrt(max(1, rows / columns))){{$}}

// The gradient is right, so the update is not.
// RUN: cd %t && not tpsp-check dp.mlir --numbers rate --optimizer sgd --optimizer-settings momentum=0 | FileCheck %s --check-prefix=RATE
// RATE: {{^}}1. updated:w: the update is 2 times too large (the size of dp){{$}}
// RATE: or the all_reduce of g[w] over dp is done twice, or multiplied by the ranks

//--- dp.mlir
tpsp.program <b = 6, d = 4, e = 8> {
mesh @mesh <dp = 2 : data>
func @step(%x: [b@dp, d] {tpsp.frozen}, param %w: [e, d]) -> [b@dp, e] {
  %z = einsum %w, %x -> [b@dp, e]
  return %z
}
}

//--- tp.mlir
tpsp.program <b = 6, d = 4, e = 8> {
mesh @mesh <tp = 2 : model>
func @step(%x: [b, d] {tpsp.frozen}, param %w: [e@tp, d]) -> [b, e@tp] {
  %z = einsum %w, %x -> [b, e@tp]
  return %z
}
}

//--- dumps.py
import random
from write_dump import write

B, D, E, RATE, DECAY = 6, 4, 8, 0.25, 0.5
draw = random.Random(1)
x, w, gz = [[[draw.uniform(-1, 1) for _ in range(columns)] for _ in range(rows)] for rows, columns in ((B, D), (E, D), (B, E))]


def times(a, b):
    return [[sum(p * q for p, q in zip(row, column)) for column in zip(*b)] for row in a]


def mixed(a, b, factor):
    return [[p + factor * q for p, q in zip(*rows)] for rows in zip(a, b)]


def orthogonal(m):
    """Newton-Schulz, with the polynomial of Muon."""
    norm = sum(each * each for row in m for each in row) ** 0.5
    m = [[each / norm for each in row] for row in m]
    for _ in range(5):
        a = times(m, [list(column) for column in zip(*m)])
        polynomial = times(mixed([[-4.7750 * each for each in row] for row in a], times(a, a), 2.0315), m)
        m = mixed(polynomial, m, 3.4445)
    return m


def dump(folder, update, length, decay=DECAY):
    new = mixed([[each * (1 - RATE * decay) for each in row] for row in w], update, -RATE * length)
    whole = {"param:w": ([E, D], sum(w, [])), "act:x": ([B, D], sum(x, [])), "cot:z": ([B, E], sum(gz, [])),
             "act:learning_rate": ([], [RATE]), "updated:w": ([E, D], sum(new, [])), "grad:w": ([E, D], sum(g, []))}
    for rank in range(2):
        write(folder, rank, whole)


g = times([list(column) for column in zip(*gz)], x)
on_parts = orthogonal(g[: E // 2]) + orthogonal(g[E // 2 :])
dump("right", orthogonal(g), 0.2 * E ** 0.5)
dump("parts", on_parts, 0.2 * (E // 2) ** 0.5)
dump("parts-in-length", on_parts, 0.2 * E ** 0.5)
dump("published", orthogonal(g), (E / D) ** 0.5)
dump("rate", g, 2, decay=0)
