"""Meshes and placements: DTensor's of a program's types, and in the words of a dump."""

import math

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard


def axes_of(mesh):
    """Returns a DeviceMesh's axes: sizes by name, major first."""
    names = mesh.mesh_dim_names or [f"axis{i}" for i in range(mesh.ndim)]
    return dict(zip(names, mesh.mesh.shape))


def placements_of(kind, axes):
    """Returns DTensor's placements of a program's type on a mesh of `axes`, sizes by name in the mesh's order.

    Axes that `axes` lacks do not count. tpsp-opt --tpsp-explain=dtensor prints the same.
    """
    return [_placement_of(kind, axis, axes) for axis in axes]


def _placement_of(kind, axis, axes):
    if axis in kind.pending:
        return Partial()
    for dim, (_, its) in enumerate(kind.dims):
        if axis in its:
            # DTensor divides in the order of the mesh.
            later = list(axes)[list(axes).index(axis):]
            factor = math.prod(axes[each] for each in its[: its.index(axis)] if each in later)
            return Shard(dim) if factor == 1 else _StridedShard(dim, split_factor=factor)
    return Replicate()


def find_mesh(mesh, tensors, rank):
    """Returns the axes (sizes by name) and this rank's coordinates (by name).

    `mesh` is a DeviceMesh, or sizes by name, whose ranks are then numbered row-major.
    Without one, it is that of the first DTensor among `tensors`. Raises ValueError if
    no mesh is found, or if this rank is not in it.
    """
    if mesh is None:
        mesh = next((_root(t.device_mesh) for t in tensors if isinstance(t, DTensor)), None)
    if mesh is None and _world_size() == 1:
        return {}, {}
    if mesh is None:
        raise ValueError("record: no parameter is a DTensor, so the mesh is not known; give mesh=, a DeviceMesh or sizes "
                         "by name such as {'dp': 2, 'tp': 3}")
    if isinstance(mesh, dict):
        return dict(mesh), _coordinates(mesh, rank)
    place = mesh.get_coordinate()
    if place is None:
        raise ValueError(f"record: rank {rank} is not in the mesh {mesh}; give the mesh that has all ranks")
    return axes_of(mesh), dict(zip(axes_of(mesh), place))


def _root(mesh):
    """The mesh that `mesh` was cut out of, if torch remembers it."""
    root = getattr(mesh, "_get_root_mesh", None)
    return root() if root else mesh


def _coordinates(axes, rank):
    size = 1
    for each in axes.values():
        size *= each
    if dist.is_initialized() and size != dist.get_world_size():
        raise ValueError(f"record: the mesh {axes} has {size} ranks, but torch.distributed has {dist.get_world_size()}; "
                         "give all axes, also those of pipeline stages")
    if not 0 <= rank < size:
        raise ValueError(f"record: rank {rank} is not one of the {size} ranks of the mesh {axes}")
    found = {}
    for name, each in reversed(axes.items()):
        rank, found[name] = divmod(rank, each)
    return {name: found[name] for name in axes}


def _world_size():
    return dist.get_world_size() if dist.is_initialized() else 1


def words_of(tensor, given=None):
    """Returns the placement of a DTensor, or `given` (by axis) of a plain tensor, in words.

    The words are "dp=Replicate,tp=Shard(0)", or "" if no placement is known.
    """
    if isinstance(tensor, DTensor):
        given = dict(zip(axes_of(tensor.device_mesh), tensor.placements))
    if isinstance(given, str):
        return given
    return ",".join(f"{axis}={_word(placement)}" for axis, placement in (given or {}).items())


def _word(placement):
    if isinstance(placement, Replicate):
        return "Replicate"
    if isinstance(placement, Partial):
        return f"Partial({placement.reduce_op})"
    if type(placement) is Shard:
        return f"Shard({placement.dim})"
    if hasattr(placement, "split_factor"):
        return f"_StridedShard({placement.dim};sf={placement.split_factor})"
    return str(placement)


def local_of(tensor):
    """Returns a copy of this rank's part of `tensor`, on the CPU."""
    tensor = tensor.detach()
    if isinstance(tensor, DTensor):
        tensor = tensor.to_local()
    if hasattr(tensor, "wait"):
        tensor = tensor.wait()
    copy = torch.empty(tensor.shape, dtype=tensor.dtype)
    return copy.copy_(tensor)
