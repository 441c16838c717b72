"""Records collectives and sends with the fields of torch's flight recorder."""

import dataclasses
import os
import sys
import threading
import time

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode

# By an operation's name: the recorder's name of it, and the arguments that are its
# inputs and its outputs. Where no argument is an output, the results are.
_OPERATIONS = {
    "c10d::allreduce_": ("all_reduce", "tensors", "tensors"),
    "c10d::allreduce_coalesced_": ("allreduce_coalesced", "tensors", "tensors"),
    "c10d::allgather_": ("all_gather", "input_tensors", "output_tensors"),
    "c10d::_allgather_base_": ("_all_gather_base", "input_tensor", "output_tensor"),
    "c10d::allgather_coalesced_": ("all_gather_coalesced", "input_list", "output_lists"),
    "c10d::allgather_into_tensor_coalesced_": ("all_gather_into_tensor_coalesced", "inputs", "outputs"),
    "c10d::reduce_scatter_": ("reduce_scatter", "input_tensors", "output_tensors"),
    "c10d::_reduce_scatter_base_": ("_reduce_scatter_base", "input_tensor", "output_tensor"),
    "c10d::reduce_scatter_tensor_coalesced_": ("reduce_scatter_tensor_coalesced", "inputs", "outputs"),
    "c10d::reduce_": ("reduce", "tensors", "tensors"),
    "c10d::broadcast_": ("broadcast", "tensors", "tensors"),
    "c10d::gather_": ("gather", "input_tensors", "output_tensors"),
    "c10d::gather_into_tensor_": ("gather", "input_tensor", "output_tensor"),
    "c10d::scatter_": ("scatter", "input_tensors", "output_tensors"),
    "c10d::alltoall_": ("all_to_all", "input_tensors", "output_tensors"),
    "c10d::alltoall_base_": ("all_to_all", "input", "output"),
    "c10d::send": ("send", "tensors", "tensors"),
    "c10d::recv_": ("recv", "tensors", "tensors"),
    "c10d::recv_any_source_": ("recv", "tensors", "tensors"),
    "c10d::barrier": ("barrier", "tensor", "tensor"),
    "_c10d_functional::all_reduce": ("all_reduce", "input", None),
    "_c10d_functional::all_reduce_": ("all_reduce", "input", None),
    "_c10d_functional::all_reduce_coalesced": ("allreduce_coalesced", "inputs", None),
    "_c10d_functional::all_reduce_coalesced_": ("allreduce_coalesced", "inputs", None),
    "_c10d_functional::all_gather_into_tensor": ("_all_gather_base", "input", None),
    "_c10d_functional::all_gather_into_tensor_out": ("_all_gather_base", "input", None),
    "_c10d_functional::all_gather_into_tensor_coalesced": ("all_gather_into_tensor_coalesced", "inputs", None),
    "_c10d_functional::reduce_scatter_tensor": ("_reduce_scatter_base", "input", None),
    "_c10d_functional::reduce_scatter_tensor_out": ("_reduce_scatter_base", "input", None),
    "_c10d_functional::reduce_scatter_tensor_coalesced": ("reduce_scatter_tensor_coalesced", "inputs", None),
    "_c10d_functional::all_to_all_single": ("all_to_all", "input", None),
    "_c10d_functional::broadcast": ("broadcast", "input", None),
    "_c10d_functional::broadcast_": ("broadcast", "input", None),
    "_c10d_functional::isend": ("send", "tensor", "tensor"),
    "_c10d_functional::irecv": ("recv", "tensor", "tensor"),
    "_dtensor::shard_dim_alltoall": ("all_to_all", "input", None),
}

_ELEMENTS = {
    torch.float64: "Double", torch.float32: "Float", torch.float16: "Half", torch.bfloat16: "BFloat16",
    torch.int64: "Long", torch.int32: "Int", torch.int16: "Short", torch.int8: "Char", torch.uint8: "Byte", torch.bool: "Bool",
}

_REDUCTIONS = {
    name: value for name in ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM")
    if (value := getattr(dist.ReduceOp, name, None)) is not None
}

# Frames of these files are between a caller and this one, and say nothing.
_UNINTERESTING = (__file__, os.path.join("torch", "_ops.py"), os.path.join("torch", "utils", "_python_dispatch.py"),
                  os.path.join("torch", "distributed", "c10d_logger.py"), os.path.join("torch", "_compile.py"),
                  os.path.join("torch", "_dynamo", "eval_frame.py"))
_MOST_FRAMES = 32


@dataclasses.dataclass
class _Group:
    number: int
    desc: str
    ranks: list
    collectives: int = 0
    transfers: int = 0


class Trace(TorchDispatchMode):
    """While it is entered, records the collectives and sends that torch issues, in order.

    `entries` has one dict each, with the fields of the flight recorder; besides these
    `ranks` (global ranks of the group), `reduce_op` ("sum", "avg", ..., if it reduces) and
    `phase` ("forward" or "backward").
    """

    def __init__(self):
        super().__init__()
        self.entries = []
        self.groups = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if DTensor in types:
            return NotImplemented  # DTensor runs first. Collectives that it issues come here again.
        row = _OPERATIONS.get(function._schema.name)
        begin = time.time_ns()
        result = function(*args, **(kwargs or {}))
        if row:
            declared = (argument.name for argument in function._schema.arguments)
            self._record(row, dict(zip(declared, args)), result, begin)
        return result

    def as_json(self):
        """Returns the recording as a value for JSON, in the flight recorder's form."""
        return {
            "version": "2.10",
            "pg_config": {name: {"name": name, "desc": group.desc, "ranks": str(group.ranks)} for name, group in self.groups.items()},
            "pg_status": {},
            "steps": 1,
            "entries": self.entries,
        }

    def _record(self, row, arguments, result, begin):
        kind, inputs, outputs = row
        group = _group_of(arguments)
        name, desc = group.group_name, group.group_desc
        known = self.groups.setdefault(name, _Group(len(self.groups), desc, dist.get_process_group_ranks(group)))
        point_to_point = kind in ("send", "recv")
        known.transfers += point_to_point
        known.collectives += not point_to_point
        inputs = _tensors(arguments[inputs])
        outputs = _tensors(result if outputs is None else arguments[outputs])
        self.entries.append({
            "frames": _frames(),
            "record_id": len(self.entries),
            "pg_id": known.number,
            "process_group": [name, desc],
            "ranks": known.ranks,
            "collective_seq_id": known.collectives,
            "p2p_seq_id": known.transfers,
            "op_id": known.collectives + known.transfers,
            "profiling_name": f"{_backend(group)}:{kind}{_peers(kind, group, arguments)}",
            **_reduction(arguments),
            "phase": "forward" if torch._C._current_graph_task_id() < 0 else "backward",
            "thread_name": threading.current_thread().name,
            "thread_id": str(threading.get_ident()),
            "time_created_ns": begin,
            "duration_ms": (time.time_ns() - begin) / 1e6,
            "input_sizes": [list(t.shape) for t in inputs],
            "input_dtypes": [_ELEMENTS.get(t.dtype, str(t.dtype)) for t in inputs],
            "output_sizes": [list(t.shape) for t in outputs],
            "output_dtypes": [_ELEMENTS.get(t.dtype, str(t.dtype)) for t in outputs],
            "state": "completed",
            "retired": True,
            "is_p2p": point_to_point,
        })


def _group_of(arguments):
    group = arguments.get("process_group", arguments.get("group_name"))
    if isinstance(group, str):
        return dist.distributed_c10d._resolve_process_group(group)
    return group if isinstance(group, dist.ProcessGroup) else dist.ProcessGroup.unbox(group)


def _backend(group):
    try:
        return dist.get_backend(group).lower()
    except (ValueError, KeyError):
        return "unknown"


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in _tensors(each)]
    return []


def _reduction(arguments):
    """Returns the entry's field with the kind of its reduction, or none."""
    reduction = arguments.get("reduce_op")
    if reduction is None:
        return {}
    if isinstance(reduction, str):
        return {"reduce_op": reduction.lower()}
    if not isinstance(reduction, dist.ReduceOp):
        reduction = dist.ReduceOp.unbox(reduction)
    return {"reduce_op": next((name.lower() for name, value in _REDUCTIONS.items() if reduction == value), "unknown")}


def _peers(kind, group, arguments):
    """Returns " 0->1" for a send and " 1<-0" for a receive, by ranks of the group."""
    if kind == "send":
        return f" {dist.get_rank(group)}->{arguments['dst']}"
    if kind == "recv" and "src" in arguments:
        return f" {dist.get_rank(group)}<-{arguments['src']}"
    return ""


def _frames():
    frames, frame = [], sys._getframe(1)
    while frame is not None and len(frames) < _MOST_FRAMES:
        code = frame.f_code
        if not code.co_filename.endswith(_UNINTERESTING):
            frames.append({"name": code.co_name, "filename": code.co_filename, "line": frame.f_lineno})
        frame = frame.f_back
    return frames
