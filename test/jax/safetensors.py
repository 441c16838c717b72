"""Reads a safetensors file into numpy arrays."""

import json
import struct

import numpy as np

TYPES = {"F32": np.float32, "I32": np.int32}


def load(path):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + at for at in entry["data_offsets"])
        array = np.frombuffer(data[begin:end], TYPES[entry["dtype"]])
        arrays[name] = array.reshape(entry["shape"])
    return arrays
