"""Writes dumps for tpsp-check, with Python's own library alone.

Tensors of a file of tpsp-run --save-all are whole. write() cuts them for each
rank and writes rank<k>.safetensors.
"""
import array
import json
import os
import struct


def read(path):
    """The F32 tensors of a file: {name: (shape, array of floats)}."""
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, tensor in header.items():
        if name == "__metadata__" or tensor["dtype"] != "F32":
            continue
        begin, end = tensor["data_offsets"]
        values = array.array("f")
        values.frombytes(data[8 + length + begin : 8 + length + end])
        tensors[name] = (tensor["shape"], values)
    return tensors


def cut(tensor, dim, parts, number):
    """One of several equal parts of a tensor along a dimension."""
    shape, values = tensor
    inner = 1
    for extent in shape[dim + 1 :]:
        inner *= extent
    piece = shape[dim] // parts
    out = array.array("f")
    for i, value in enumerate(values):
        if i // inner % shape[dim] // piece == number:
            out.append(value)
    return shape[:dim] + [piece] + shape[dim + 1 :], out


def scaled(tensor, factor):
    shape, values = tensor
    return shape, array.array("f", [factor * value for value in values])


def write(folder, rank, tensors, metadata=None):
    """Writes the file of one rank."""
    os.makedirs(folder, exist_ok=True)
    write_file(f"{folder}/rank{rank}.safetensors", tensors, metadata)


def write_file(path, tensors, metadata=None):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, (shape, values) in tensors.items():
        raw = array.array("f", values).tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
