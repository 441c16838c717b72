"""Writes safetensors and JSON with the standard library, each file whole or not at all."""

import contextlib
import ctypes
import json
import os

import torch

_ELEMENTS = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8",
    torch.uint8: "U8", torch.bool: "BOOL",
}


@contextlib.contextmanager
def whole_file(path):
    """Opens a file next to `path`, and renames it to `path` when the block ends.

    If the block raises, the file is removed, and a previous file at `path` stays.
    """
    path = os.fspath(path)
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(beside, "wb") as file:
            yield file
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise


def write_json(path, value):
    """Writes `value` to `path` as JSON."""
    with whole_file(path) as file:
        file.write(json.dumps(value, indent=1).encode())


def write_tensors(path, tensors, metadata):
    """Writes a safetensors file: `tensors` by name, on a CPU, and `metadata`, strings by name.

    Raises TypeError if a tensor has elements that the format lacks.
    """
    header, end = {"__metadata__": metadata}, 0
    for name, tensor in tensors.items():
        if tensor.dtype not in _ELEMENTS:
            raise TypeError(f"{path}: tensor '{name}' has elements {tensor.dtype}, which safetensors files lack; convert it")
        begin, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": _ELEMENTS[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with whole_file(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(_bytes(tensor))


def _bytes(tensor):
    tensor = tensor.detach().contiguous()
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()) if tensor.numel() else b""
