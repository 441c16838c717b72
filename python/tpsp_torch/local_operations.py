"""What DTensor cannot divide by itself: torch's attention on CPUs, and convolutions."""

import torch
from torch.distributed.tensor import DTensor, Replicate, Shard

_ATTENTION = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
_ATTENTION_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default


def register():
    """Lets DTensor run attention on CPUs: every rank computes its own samples or heads."""
    DTensor._op_dispatcher._custom_op_handlers[_ATTENTION] = _attend
    DTensor._op_dispatcher._custom_op_handlers[_ATTENTION_BACKWARD] = _attend


def _attend(operation, arguments, named):
    tensors = [each for each in arguments if isinstance(each, torch.Tensor)]
    divided = next(each for each in tensors if isinstance(each, DTensor))
    mesh = divided.device_mesh
    placements = [_common([each.placements[i] for each in tensors if isinstance(each, DTensor)]) for i in range(mesh.ndim)]
    local = [_part(each, mesh, placements) for each in tensors]
    mask = named.get("attn_mask")
    if mask is not None:
        named = {**named, "attn_mask": _part(mask, mesh, _of_mask(placements, mask.ndim, divided.ndim))}
    results = operation(*local, *arguments[len(tensors):], **named)
    return tuple(DTensor.from_local(each, mesh, placements, run_check=False) for each in results)


def _common(placements):
    """Along the batch or the heads if all tensors are divided so, else whole."""
    first = placements[0]
    return first if first in (Shard(0), Shard(1)) and all(each == first for each in placements) else Replicate()


def _of_mask(placements, dims, all_dims):
    """The placements of a mask, whose dimensions are the last of the queries': [s, t] has neither heads nor batch."""
    lacking = all_dims - dims
    return [Shard(p.dim - lacking) if isinstance(p, Shard) and p.dim >= lacking else Replicate() for p in placements]


def _part(tensor, mesh, placements):
    """This rank's part; dimensions of extent 1, as of masks, stay."""
    if not isinstance(tensor, DTensor):
        tensor = DTensor.from_local(tensor, mesh, [Replicate()] * mesh.ndim, run_check=False)
    placements = [Replicate() if isinstance(p, Shard) and tensor.shape[p.dim] == 1 else p for p in placements]
    return tensor.redistribute(placements=placements).to_local()


def compute_whole(module, mesh):
    """Makes a module gather its parameters and its inputs, and compute on whole tensors on every rank."""
    original = module.forward

    def forward(*arguments, **named):
        kept = dict(module._parameters)
        try:
            for name, parameter in kept.items():
                if isinstance(parameter, DTensor):
                    del module._parameters[name]
                    setattr(module, name, parameter.full_tensor())
            output = original(*(each.full_tensor() if isinstance(each, DTensor) else each for each in arguments), **named)
            return DTensor.from_local(output, mesh, [Replicate()] * mesh.ndim, run_check=False)
        finally:
            for name, parameter in kept.items():
                module.__dict__.pop(name, None)
                module._parameters[name] = parameter

    module.forward = forward
