"""Compares a run's tensors with PyTorch's: check-torch.py EXPECTED FOUND.

Every output, the loss, new buffers and every gradient of EXPECTED must be in FOUND, equal to
1e-4, relative, in the Euclidean norm. Gradients that are 0 but for rounding must
be below 5e-5 of the largest. Uses Python's standard library only.
"""
import array
import json
import math
import struct
import sys


def load(path):
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    tensors = {}
    for name, about in header.items():
        if name != "__metadata__" and about["dtype"] == "F32":
            begin, end = about["data_offsets"]
            tensors[name] = array.array("f", data[8 + length + begin:8 + length + end])
    return tensors


def norm(values):
    return math.sqrt(sum(x * x for x in values))


expected, found = load(sys.argv[1]), load(sys.argv[2])
names = [n for n in expected if n in ("out", "loss") or n.startswith("new_") or (n.startswith("g[") and n != "g[out]")]
largest = max((norm(expected[n]) for n in names if n.startswith("g[")), default=0)
worst = 0
for name in names:
    theirs, ours = expected[name], found.get(name)
    if ours is None or len(ours) != len(theirs):
        sys.exit(f"{name}: {len(theirs)} elements are expected, and the run has {ours and len(ours)}")
    error = norm([a - b for a, b in zip(ours, theirs)])
    if name.startswith("g[") and norm(theirs) <= 1e-5 * largest:
        relative = 2 * error / largest
    else:
        relative = error / max(norm(theirs), 1e-30)
    if not relative <= 1e-4:
        sys.exit(f"{name} differs by {relative:.1e}")
    worst = max(worst, relative)
print(f"{len(names)} tensors are equal")
