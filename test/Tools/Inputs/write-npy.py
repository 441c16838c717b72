"""write-npy.py FILE TYPE SHAPE FIRST BELOW

Writes an array in NumPy's format: FIRST, FIRST + 1, ..., beginning again at
FIRST when BELOW is reached. TYPE is i4, i8, f4 or f8; SHAPE is 2,64, or "" for
a scalar.
"""
import math
import struct
import sys

path, kind, shape, first, below = sys.argv[1:]
extents = [int(extent) for extent in shape.split(",") if extent]
first, below = int(first), int(below)
values = [first + i % (below - first) for i in range(math.prod(extents))]
code = {"i4": "i", "i8": "q", "f4": "f", "f8": "d"}[kind]
header = f"{{'descr': '<{kind}', 'fortran_order': False, 'shape': {tuple(extents)}, }}"
header += " " * (-(len(header) + 11) % 64) + "\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
    file.write(header.encode() + struct.pack(f"<{len(values)}{code}", *values))
