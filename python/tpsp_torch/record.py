"""Writes what one rank of a parallel step has, for tpsp-check."""

import contextlib
import os
import re

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor

from .files import write_json, write_tensors
from .placements import find_mesh, local_of, words_of
from .trace import Trace

# What wrappers of modules add to names.
_WRAPPERS = re.compile(r"(^|\.)(_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)(?=\.|$)")


def record(folder, parameters, mesh=None, *, inputs=None, optimizer=None, placements=None, boundaries=(), hooks=False,
           trace=True, rename=None, rank=None):
    """Records one step of this rank as FOLDER/rank<k>.safetensors and FOLDER/trace<k>.json.

        with tpsp_torch.record("dump", model, mesh) as dump:
            loss = model(batch)
            loss.backward()
            reduce_gradients(model)
            dump.loss(loss)

    parameters: a module, or tensors by name. DTensors give their placements, and FSDP2
        its shards. Plain tensors are what this rank has: a shard, a copy or a summand.
    mesh: a DeviceMesh with all ranks, or sizes by name, {"dp": 2, "tp": 3}, whose ranks
        are numbered row-major. It may be left out if a parameter is a DTensor.
    inputs: the program's inputs by name. Their values at the start of the block are recorded
        as activations are, and their gradients as parameters' are.
    optimizer: gradients are those before its first step, and parameters after it are
        recorded, too. Without it gradients are those at the end of the block, or at
        dump.gradients().
    placements: of plain tensors, by name: "dp=Replicate,tp=Shard(0)", or placements by axis.
    boundaries: names of modules, or True for all: their outputs and the cotangents of these.
    hooks: gradients are taken when autograd accumulates them, for programs that consume
        them in their backward pass.
    trace: records collectives and sends.
    rename: a function from a parameter's or module's name to the model's.
    rank: this rank's number, if torch.distributed does not give it.

    Files are written at the end of the block, whole; if the block raises, none is. Raises
    ValueError for a mesh, name or placement that does not exist. Returns the context
    manager, whose value is the Dump.
    """
    if rank is None:
        rank = dist.get_rank() if dist.is_initialized() else 0
    return Dump(folder, parameters, mesh, inputs or {}, optimizer, placements or {}, boundaries, hooks, trace, rename, rank)


class Dump(contextlib.AbstractContextManager):
    """What is recorded. Tensors are copied to the CPU when they are recorded."""

    def __init__(self, folder, parameters, mesh, inputs, optimizer, placements, boundaries, hooks, trace, rename, rank):
        self._folder, self._rank, self._rename = folder, rank, rename
        if isinstance(parameters, torch.nn.parallel.DistributedDataParallel):
            parameters = parameters.module
        self._module = parameters if isinstance(parameters, torch.nn.Module) else None
        self._parameters = {self._name(name): tensor for name, tensor in _named(parameters)}
        self._inputs, self._leaves = inputs, {**self._parameters, **inputs}
        self._placements = placements
        self._axes, self._place = find_mesh(mesh, self._leaves.values(), rank)
        self._boundaries, self._hooks, self._optimizer = self._chosen(boundaries), hooks, optimizer
        self._trace = Trace() if trace else None
        self._tensors, self._words, self._calls = {}, {}, {}
        self._has_gradients, self._open = False, contextlib.ExitStack()
        unknown = set(placements) - set(self._leaves)
        if unknown:
            raise ValueError(f"record: placements= names '{sorted(unknown)[0]}', which is no parameter; there are: "
                             f"{', '.join(self._leaves)}")

    def __enter__(self):
        for name, tensor in self._parameters.items():
            self._add("param", name, tensor)
        for name, tensor in self._inputs.items():
            self._add("act", name, tensor)
        for name, module in self._boundaries.items():
            self._until_exit(module.register_forward_hook(self._boundary_hook(name)))
        if self._hooks:
            for name, tensor in self._leaves.items():
                if tensor.requires_grad:
                    self._until_exit(tensor.register_post_accumulate_grad_hook(self._gradient_hook(name)))
        if self._optimizer is not None:
            self._until_exit(self._optimizer.register_step_pre_hook(lambda *_: self._has_gradients or self.gradients()))
        if self._trace:
            self._open.enter_context(self._trace)
        return self

    def __exit__(self, kind, error, traceback):
        self._open.close()
        if kind is not None:
            return
        if self._has_gradients:
            self.updated()
        else:
            self.gradients()
        self._write()

    def gradients(self):
        """Records the gradients as they are now. What follows in the block is the update."""
        self._has_gradients = True
        having = [tensor for tensor in self._leaves.values() if tensor.grad is not None]
        for name, tensor in self._leaves.items():
            if tensor.grad is not None:
                self._add("grad", name, tensor.grad, like=name)
            elif having and tensor.requires_grad and f"grad:{name}" not in self._tensors:
                self._add("grad", name, torch.zeros_like(tensor), like=name)
                self._words[f"absent:grad:{name}"] = "true"

    def gradient(self, name, tensor, placement=None):
        """Records a gradient that autograd does not keep in .grad, in place of it."""
        self._add("grad", name, tensor, placement, like=name)

    def updated(self):
        """Records the parameters as they are now, after the update."""
        for name, tensor in self._parameters.items():
            self._add("updated", name, tensor, like=name)

    def activation(self, name, tensor, placement=None):
        """Records an activation, and its cotangent once the backward pass has it."""
        self._add("act", name, tensor, placement)
        if tensor.requires_grad:
            tensor.register_hook(lambda cotangent: self._add("cot", name, cotangent, placement))

    def loss(self, value):
        """Records the loss, a tensor or a number."""
        self._add_number("loss", value)

    def norm(self, value):
        """Records the norm of all gradients, a tensor or a number."""
        self._add_number("norm", value)

    def _add(self, kind, name, tensor, placement=None, like=None):
        full = f"{kind}:{name}"
        words = words_of(tensor, placement or self._placements.get(like or name))
        if words:
            self._words[f"placement:{full}"] = words
        with _untraced():
            self._tensors[full] = local_of(tensor)

    def _add_number(self, name, value):
        if isinstance(value, DTensor):
            value = value.full_tensor()
        with _untraced():
            self._tensors[name] = local_of(value) if isinstance(value, torch.Tensor) else torch.tensor(float(value), dtype=torch.float64)

    def _gradient_hook(self, name):
        return lambda tensor: self._add("grad", name, tensor.grad, like=name)

    def _boundary_hook(self, name):
        def hook(module, arguments, output):
            call = self._calls[name] = self._calls.get(name, -1) + 1
            own = f"{name}#{call}" if call else name
            several = isinstance(output, (tuple, list))
            for i, each in enumerate(output if several else [output]):
                if isinstance(each, torch.Tensor):
                    self.activation(f"{own}.{i}" if several else own, each)
        return hook

    def _name(self, name):
        name = _WRAPPERS.sub("", name).lstrip(".")
        return self._rename(name) if self._rename else name

    def _chosen(self, boundaries):
        if not boundaries:
            return {}
        if self._module is None:
            raise ValueError("record: boundaries= needs a module in place of tensors by name; or call dump.activation(name, tensor)")
        known = {self._name(name) or "output": module for name, module in self._module.named_modules()}
        if boundaries is True:
            return known
        for name in boundaries:
            if name not in known:
                raise ValueError(f"record: boundaries= names '{name}', which is no module; there are: {', '.join(known)}")
        return {name: known[name] for name in boundaries}

    def _until_exit(self, handle):
        self._open.callback(handle.remove)

    def _write(self):
        os.makedirs(self._folder, exist_ok=True)
        numbers = {"tpsp.rank": str(self._rank), "tpsp.mesh": _listed(self._axes), "tpsp.coords": _listed(self._place)}
        write_tensors(os.path.join(self._folder, f"rank{self._rank}.safetensors"), self._tensors, {**numbers, **self._words})
        if self._trace:
            write_json(os.path.join(self._folder, f"trace{self._rank}.json"), self._trace.as_json())


def _named(parameters):
    if isinstance(parameters, torch.nn.Module):
        return parameters.named_parameters()
    return parameters.items()


def _listed(numbers):
    return ",".join(f"{name}={number}" for name, number in numbers.items())


@contextlib.contextmanager
def _untraced():
    """Copies of the recording are no operations of the program."""
    with torch.utils._python_dispatch._disable_current_modes():
        yield
