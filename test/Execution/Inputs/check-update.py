"""Computes one step of an optimizer, by its formulas in Python's own numbers.

    check-update.py inputs F.safetensors
        writes random data: inputs and parameters. With "state", "momentum" and
        "muon" for "in" in F, also writes the optimizers' state and numbers.
        With "masters", writes masters unlike their parameters
    check-update.py next IN STATE RESULT F.safetensors
        writes the data with which the next step begins
    check-update.py same RESULT RESULT
        compares parameters and state, bit by bit
    check-update.py masters MASTERS RESULT
        compares masters before and after a step
    check-update.py adamw|lion|muon|sgd IN STATE GRADIENTS RESULT [EPSILON]
        compares the values that a step has saved
"""

import json
import math
import random
import struct
import sys

SHAPES = {"x": [4, 8, 16], "gain": [16], "w0": [32, 16], "w1": [16, 32]}
PARAMETERS = ["gain", "w0", "w1"]
CLIP, RATE, STEP = 0.1, 0.0625, 3
BETAS, DECAY = (0.9, 0.95), 0.1
EPSILON = float(sys.argv[6]) if len(sys.argv) > 6 else 1e-8


def write(path, tensors):
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        part = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header, data = json.loads(data[8:8 + size]), data[8 + size:]
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            tensors[name] = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
    return tensors


def write_inputs(path):
    source = random.Random(7)

    def tensor(shape, low, high):
        return shape, [source.uniform(low, high) for _ in range(math.prod(shape))]

    write(path, {name: tensor(shape, -1, 1) for name, shape in SHAPES.items()})
    numbers = {"learning_rate": ([], [RATE]), "step": ([], [STEP])}
    state, momentum = dict(numbers), dict(numbers)
    for name in PARAMETERS:
        state[f"mean[{name}]"] = tensor(SHAPES[name], -0.1, 0.1)
        state[f"square[{name}]"] = tensor(SHAPES[name], 0.001, 0.1)
        momentum[f"momentum[{name}]"] = tensor(SHAPES[name], -0.1, 0.1)
    write(path.replace(".in.", ".state."), state)
    write(path.replace(".in.", ".momentum."), momentum)
    muon = {**numbers, **{key: state[key] for key in ["mean[gain]", "square[gain]"]},
            **{key: momentum[key] for key in ["momentum[w0]", "momentum[w1]"]}}
    write(path.replace(".in.", ".muon."), muon)
    write(path.replace(".in.", ".masters."),
          {f"master[{name}]": tensor(SHAPES[name], -1, 1) for name in PARAMETERS})


def write_next(inputs, state, after, path):
    names = {**read(inputs), **read(state)}
    shapes = {**SHAPES, "step": [], "learning_rate": []}
    tensors = {name: (shapes.get(name, SHAPES.get(name[name.find("[") + 1:-1])), values)
               for name, values in read(after).items() if name in names}
    tensors["step"] = [], [STEP + 1]
    write(path, tensors)


def check_same(one, other):
    one, other = read(one), read(other)
    names = [name for name in one if name.split("[")[0] in ["mean", "square", *PARAMETERS]]
    assert len(names) == 9, names
    for name in names:
        assert one[name] == other[name], name


def check_masters(masters, after):
    """A step changes a master by little; the parameters differ much more."""
    masters, after = read(masters), read(after)
    for name, before in masters.items():
        changes = [abs(x - y) for x, y in zip(before, after[name], strict=True)]
        assert 0 < sum(changes) / len(changes) < 0.2, (name, changes)


def adamw(name, w, g, state):
    """arXiv:1711.05101, algorithm 2."""
    decay = DECAY if len(SHAPES[name]) > 1 else 0
    new = {name: [], f"mean[{name}]": [], f"square[{name}]": []}
    rows = zip(w, g, state[f"mean[{name}]"], state[f"square[{name}]"])
    for w, g, m, v in rows:
        m = BETAS[0] * m + (1 - BETAS[0]) * g
        v = BETAS[1] * v + (1 - BETAS[1]) * g * g
        unbiased = m / (1 - BETAS[0] ** STEP), v / (1 - BETAS[1] ** STEP)
        change = unbiased[0] / (math.sqrt(unbiased[1]) + EPSILON) + decay * w
        for key, value in zip(new, [w - RATE * change, m, v]):
            new[key].append(value)
    return new


def sgd(name, w, g, state):
    """Nesterov's, with decay of matrices in the gradient."""
    decay = 0.01 if len(SHAPES[name]) > 1 else 0
    new = {name: [], f"momentum[{name}]": []}
    for w, g, m in zip(w, g, state[f"momentum[{name}]"]):
        g += decay * w
        m = 0.9 * m + g
        for key, value in zip(new, [w - RATE * (g + 0.9 * m), m]):
            new[key].append(value)
    return new


def lion(name, w, g, state):
    """arXiv:2302.06675, algorithm 2."""
    decay = DECAY if len(SHAPES[name]) > 1 else 0
    new = {name: [], f"momentum[{name}]": []}
    for w, g, m in zip(w, g, state[f"momentum[{name}]"]):
        change = math.copysign(1, 0.9 * m + 0.1 * g) + decay * w
        for key, value in zip(new, [w - RATE * change, 0.99 * m + 0.01 * g]):
            new[key].append(value)
    return new


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def combined(*terms):
    """Returns the sum of factor * matrix."""
    return [[sum(factor * x for (factor, _), x in zip(terms, xs)) for xs in zip(*rows)]
            for rows in zip(*(matrix for _, matrix in terms))]


def muon(name, w, g, state):
    """Newton-Schulz of the Nesterov momentum for matrices; AdamW for others."""
    if len(SHAPES[name]) < 2:
        return adamw(name, w, g, state)
    rows, columns = SHAPES[name]
    buffer = [0.95 * m + 0.05 * g for m, g in zip(state[f"momentum[{name}]"], g)]
    direction = [0.95 * m + 0.05 * g for m, g in zip(buffer, g)]
    length = math.sqrt(sum(x * x for x in direction))
    x = [[value / length for value in direction[i * columns:(i + 1) * columns]]
         for i in range(rows)]
    for _ in range(5):
        a = product(x, list(zip(*x)))
        x = combined((3.4445, x), (1, product(combined((-4.7750, a), (2.0315, product(a, a))), x)))
    size = 0.2 * math.sqrt(max(rows, columns))
    changes = [size * value for row in x for value in row]
    return {name: [w - RATE * (change + DECAY * w) for w, change in zip(w, changes)],
            f"momentum[{name}]": buffer}


def check(optimizer, before, state, gradients, after):
    before, state, gradients, after = map(read, [before, state, gradients, after])
    clipped = optimizer is adamw
    norm = math.sqrt(sum(g * g for name in PARAMETERS for g in gradients[f"g[{name}]"]))
    factor = min(1, CLIP / (norm + 1e-6)) if clipped else 1
    assert norm > 2 * CLIP, norm
    if clipped:
        assert abs(after["norm"][0] - norm) < 1e-6 * norm, (after["norm"], norm)
    for name in PARAMETERS:
        g = [factor * g for g in gradients[f"g[{name}]"]]
        for key, expected in optimizer(name, before[name], g, state).items():
            largest = max(map(abs, expected))
            for one, other in zip(after[key], expected, strict=True):
                assert abs(one - other) < 2e-6 * largest, (key, one, other)


if sys.argv[1] == "inputs":
    write_inputs(sys.argv[2])
elif sys.argv[1] == "next":
    write_next(*sys.argv[2:])
elif sys.argv[1] == "masters":
    check_masters(*sys.argv[2:])
elif sys.argv[1] == "same":
    check_same(*sys.argv[2:])
else:
    check({"adamw": adamw, "lion": lion, "muon": muon, "sgd": sgd}[sys.argv[1]], *sys.argv[2:6])
