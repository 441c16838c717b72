"""values.py write FILE.npy NUMBER...
values.py check FILE.safetensors NAME=NUMBER,NUMBER... NAME=finite...

Writes an array of f32 with one dimension. Checks tensors, each number to the
last bit. One number stands for all elements. -0 differs from 0, and nan is any
NaN. "finite" stands for any finite numbers.
"""
import json
import math
import struct
import sys


def write(path, numbers):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(numbers)},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + struct.pack(f"<{len(numbers)}f", *map(float, numbers)))


def decoded(data, kind):
    if kind == "BF16":
        data = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
    code, size = {"F64": ("d", 8), "F32": ("f", 4), "BF16": ("f", 4), "F16": ("e", 2)}[kind]
    return struct.unpack(f"<{len(data) // size}{code}", data)


def read(path):
    """Returns {name: (type, numbers)}."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        data = file.read()
    return {name: (row["dtype"], decoded(data[slice(*row["data_offsets"])], row["dtype"]))
            for name, row in header.items() if name != "__metadata__"}


def text(number):
    return "nan" if math.isnan(number) else number.hex()


def rounded(number, kind):
    return decoded(struct.pack("<f", number), "F32")[0] if kind == "F32" else number


def check(path, expectations):
    tensors = read(path)
    failed = False
    for expectation in expectations:
        name, _, numbers = expectation.partition("=")
        kind, values = tensors[name]
        if numbers == "finite":
            if not all(map(math.isfinite, values)):
                print(f"{name} is {values}, and should be finite")
                failed = True
            continue
        wanted = [rounded(float(number), kind) for number in numbers.split(",")]
        wanted *= len(values) if len(wanted) == 1 else 1
        if list(map(text, values)) != list(map(text, wanted)):
            print(f"{name} is {values}, and should be {wanted}")
            failed = True
    sys.exit(failed)


{"write": write, "check": check}[sys.argv[1]](sys.argv[2], sys.argv[3:])
