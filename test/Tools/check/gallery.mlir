// Rows of the gallery in docs/Check.md.
// RUN: split-file %s %t
// RUN: cd %t && env PYTHONPATH=%S/../Inputs python3 dumps.py

// A router's gradient is reduced over dp, not ep.
// RUN: cd %t && not tpsp-check router.mlir --numbers router | FileCheck %s --check-prefix=ROUTER
// ROUTER: {{^}}wrong: 1 of 1 tensor, by 1 cause{{$}}
// ROUTER: {{^}}1. grad:w: added up over dp, and not over ep{{$}}
// ROUTER-NEXT: needs all_reduce of g[w] over ep

// Data parallelism over a group that has different shards.
// RUN: cd %t && not tpsp-check shards.mlir --numbers shards | FileCheck %s --check-prefix=SHARDS
// SHARDS: {{^}}1. grad:w: complete, and averaged over tp{{$}}

// A residual, and a row-parallel bias, that every rank adds before the sum.
// RUN: cd %t && tpsp-check row.mlir --numbers row | FileCheck %s --check-prefix=ROW
// ROW: {{^}}right: 1 tensor{{$}}
// RUN: cd %t && not tpsp-check row.mlir --numbers residual | FileCheck %s --check-prefix=RESIDUAL
// RESIDUAL: {{^}}wrong: 1 of 1 tensor, by 1 cause{{$}}
// RESIDUAL: {{^}}1. act:z: right but for a term: x counts 3 times (the size of tp){{$}}
// RUN: cd %t && not tpsp-check row.mlir --numbers bias | FileCheck %s --check-prefix=BIAS
// BIAS: {{^}}1. act:z: bias counts 3 times, once for each rank of tp{{$}}

// The backward pass of a column-parallel layer does not reduce.
// RUN: cd %t && not tpsp-check column.mlir --numbers column | FileCheck %s --check-prefix=COLUMN
// COLUMN: {{^}}wrong: 2 of 3 tensors, by 1 cause{{$}}
// COLUMN: {{^}}1. grad:x, grad:gain: the all_reduce of g[xn] over tp is missing{{$}}

// Each rank divides the loss by its own count.
// RUN: cd %t && not tpsp-check counts.mlir --numbers counts | FileCheck %s --check-prefix=COUNTS
// COUNTS: {{^}}1. loss: the all_reduce of {{.*}} over dp is missing, and the mean over the ranks is taken of what follows from each rank's own: a mean of means{{$}}

//--- router.mlir
tpsp.program <b = 6, d = 8> {
mesh @mesh <dp = 2 : data, ep = 3 : data>
func @f(%x: [b@ep, d] {tpsp.frozen}, param %w: [d]) -> [b@ep, d] {
  %z = mul %x, %w
  return %z
}
}

//--- shards.mlir
tpsp.program <b = 6, d = 12> {
mesh @mesh <tp = 3 : model>
func @f(%x: [b, d@tp] {tpsp.frozen}, param %w: [d@tp]) -> [b, d@tp] {
  %z = mul %x, %w
  return %z
}
}

//--- row.mlir
tpsp.program <b = 4, d = 4, e = 6> {
mesh @mesh <tp = 3 : model>
func @f(%x: [b, d] {tpsp.frozen}, %h: [b, e@tp] {tpsp.frozen}, param %down: [d, e@tp], param %bias: [d]) -> [b, d] {
  %y = einsum %down, %h -> [b, d]
  %a = add %y, %bias
  %z = add %a, %x
  return %z
}
}

//--- column.mlir
tpsp.program <b = 4, d = 4, e = 6> {
mesh @mesh <tp = 3 : model>
func @f(%x: [b, d], param %gain: [d], param %up: [e@tp, d]) -> [b, e@tp] {
  %xn = mul %x, %gain
  %z = einsum %up, %xn -> [b, e@tp]
  return %z
}
}

//--- counts.mlir
tpsp.program <b = 6, v = 5> {
mesh @mesh <dp = 2 : data>
func @f(%scores: [b@dp, v] {tpsp.frozen}, %labels: i32[b@dp] {tpsp.below = 5, tpsp.data = "labels"}) -> [] {
  %token = cross_entropy %scores, %labels {over = "v"}
  %loss = mean %token, %labels -> []
  return %loss
}
}

//--- dumps.py
import math
import random
from write_dump import cut, write

draw = random.Random(3)


def made(*shape):
    count = 1
    for extent in shape:
        count *= extent
    return list(shape), [draw.uniform(-1, 1) for _ in range(count)]


def rows(a):
    (count, width), values = a
    return [values[i * width : (i + 1) * width] for i in range(count)]


def of(matrix):
    return [len(matrix), len(matrix[0])], [value for row in matrix for value in row]


def column_sums(matrix):
    return [len(matrix[0])], [sum(column) for column in zip(*matrix)]


def products(a, b):
    return [[p * q for p, q in zip(*pair)] for pair in zip(a, b)]


def times(a, b):
    """a[i, k] b[j, k], summed over k."""
    return [[sum(p * q for p, q in zip(row, other)) for other in b] for row in a]


x, gz = made(6, 8), made(6, 8)
for rank in range(6):
    part = [cut(each, 0, 3, rank % 3) for each in (x, gz)]
    shape, own = column_sums(products(*map(rows, part)))
    write("router", rank, {"act:x": part[0], "cot:z": part[1], "grad:w": (shape, [2 * value for value in own])})

x, gz = made(6, 12), made(6, 12)
whole = column_sums(products(rows(x), rows(gz)))[1]
mean = [sum(whole[i + 4 * rank] for rank in range(3)) / 3 for i in range(4)]
for rank in range(3):
    write("shards", rank, {"act:x": cut(x, 1, 3, rank), "cot:z": cut(gz, 1, 3, rank), "grad:w": ([4], mean)})

x, h, down, bias = made(4, 4), made(4, 6), made(4, 6), made(4)
y = times(rows(h), rows(down))
for folder, residuals, biases in (("row", 1, 1), ("residual", 3, 1), ("bias", 1, 3)):
    z = [[a + biases * b + residuals * c for a, b, c in zip(row, bias[1], other)] for row, other in zip(y, rows(x))]
    for rank in range(3):
        write(folder, rank, {"act:x": x, "act:h": cut(h, 1, 3, rank), "param:down": cut(down, 1, 3, rank),
                             "param:bias": bias, "act:z": of(z)})

x, gain, up, gz = made(4, 4), made(4), made(6, 4), made(4, 6)
xn = [[a * b for a, b in zip(row, gain[1])] for row in rows(x)]
for rank in range(3):
    own_up, own_gz = cut(up, 0, 3, rank), cut(gz, 1, 3, rank)
    gxn = times(rows(own_gz), [list(column) for column in zip(*rows(own_up))])
    gup = times([list(column) for column in zip(*rows(own_gz))], [list(column) for column in zip(*xn)])
    write("column", rank, {"act:x": x, "param:gain": gain, "param:up": own_up, "cot:z": own_gz, "grad:up": of(gup),
                           "grad:x": of([[a * b for a, b in zip(row, gain[1])] for row in gxn]),
                           "grad:gain": column_sums(products(gxn, rows(x)))})

scores, labels = made(6, 5), [3, -100, -100, 1, 0, -100]
tokens = [math.log(sum(map(math.exp, row))) - row[label] if label >= 0 else None for row, label in zip(rows(scores), labels)]
counting = [[each for each in tokens[3 * rank : 3 * rank + 3] if each is not None] for rank in range(2)]
for rank in range(2):
    loss = sum(sum(own) / len(own) for own in counting) / 2
    write("counts", rank, {"act:scores": cut(scores, 0, 2, rank), "act:labels": ([3], labels[3 * rank : 3 * rank + 3]),
                           "loss": ([], [loss])})
