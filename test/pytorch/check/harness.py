"""What the programs of this folder are made of: arguments, collectives and dumps.

A program is a function of a Rank and of the name of a mistake (None: right), with the
text of the model that it computes. Arguments, their extents and their placements come
from that text. On a Rank whose axes all have size 1 it is the unsharded program.
"""

import dataclasses
import itertools
import zlib

import numpy
import torch
import torch.distributed as dist

from tpsp_torch import program as notation
from tpsp_torch import record

PROGRAMS = {}
# The type of all numbers that are not integers: torch.float32, or torch.bfloat16 in all of a run.
FLOAT = [torch.float32]
# Whether parameters are f32, and products are taken in bf16.
AUTOCAST = [False]


def in_type(array):
    """Returns an array as a tensor of the run's type."""
    tensor = torch.from_numpy(array)
    return tensor.to(FLOAT[0]) if tensor.is_floating_point() else tensor


def _rounded(array):
    """Returns the numbers that the run's type has of an array, as f32."""
    tensor = in_type(array)
    return tensor.float().numpy() if tensor.is_floating_point() else array


@dataclasses.dataclass
class Program:
    """`holds(coordinates)` are the names of the arguments of a rank; None: all of them."""

    name: str
    text: str
    run: object
    holds: object
    update: str
    micro_batches: int
    adjust: object
    layers: bool

    def __post_init__(self):
        self.parsed = notation.read(self.text)
        self.main = self.parsed.main()
        self.mesh = self.parsed.mesh
        returned = self.main.statements[-1].operands
        self.results = dict(zip(returned, self.main.results))

    def size(self):
        return int(numpy.prod(list(self.mesh.values())))

    def values(self):
        """Returns the whole arguments and cotangents by name, as numpy arrays, the same in every process."""
        found = {}
        for argument in self.parsed.arguments():
            found[argument.name] = self._draw(argument.name, argument.type, argument.is_parameter, argument.attributes)
        for name, kind in self.results.items():
            if kind.dims:
                found[f"g[{name}]"] = self._draw(f"g[{name}]", kind, False, "")
        found = self.adjust(found) if self.adjust else found
        return {name: _rounded(value) for name, value in found.items()}

    def _draw(self, name, kind, is_parameter, attributes):
        random = numpy.random.default_rng(zlib.crc32(f"{self.name} {name}".encode()))
        shape = self.parsed.shape(kind)
        if kind.element == "i32":
            below = int(attributes.split("tpsp.below = ")[1].split()[0].strip(",}"))
            values = random.integers(0, below, shape).astype(numpy.int32)
            if "labels" in attributes:
                values[random.random(shape) < 0.4] = -100
            return values
        values = random.standard_normal(shape)
        if is_parameter:
            values = 1 + 0.3 * values if len(shape) == 1 else values / numpy.sqrt(shape[-1])
        return values.astype(numpy.float32)


def program(text, holds=None, update="", micro_batches=1, adjust=None, layers=False):
    """Registers a function as the program of `text`.

    `update` has options of tpsp-run for the step's update; `adjust` changes the values of arguments.
    With `layers`, every layer is checked alone, and the dump has all arguments.
    """
    def register(run):
        PROGRAMS[run.__name__] = Program(run.__name__, text, run, holds, update, micro_batches, adjust, layers)
        return run
    return register


class _Map(torch.autograd.Function):
    """A linear map and its adjoint, given as two functions."""

    @staticmethod
    def forward(ctx, x, forward, backward):
        ctx.backward_map = backward
        return forward(x)

    @staticmethod
    def backward(ctx, gradient):
        return ctx.backward_map(gradient), None, None


class Rank:
    """One rank of a program: its shards of the arguments, and collectives along axes.

    Axes are a name, or names separated by spaces, major first. `groups` has a process group
    for each set of axes; without it all axes have size 1.
    """

    def __init__(self, program, place=None, groups=None, mesh=None):
        self.program, self.groups, self.mesh = program, groups, mesh
        self.sizes = dict(program.mesh) if groups is not None else dict.fromkeys(program.mesh, 1)
        self.place = place or dict.fromkeys(program.mesh, 0)
        self.whole = {name: in_type(value) for name, value in program.values().items()}
        self.tensors, self.placements = {}, {}
        for argument in program.parsed.arguments():
            self._take(argument)
        self.dump = None

    def _take(self, argument):
        self.placements[argument.name] = self.words(argument.type)
        tensor = self.shard(self.whole[argument.name], argument.type)
        if argument.type.element != "i32" and "frozen" not in argument.attributes:
            tensor.requires_grad_()
        self.tensors[argument.name] = tensor

    def __getitem__(self, name):
        return self.tensors[name]

    def size(self, axes):
        return int(numpy.prod([self.sizes[axis] for axis in axes.split()]))

    def at(self, axes):
        """Returns this rank's number along axes."""
        number = 0
        for axis in axes.split():
            number = number * self.sizes[axis] + self.place[axis]
        return number

    def shard(self, whole, kind):
        """Returns a copy of this rank's part of `whole`, placed as the type `kind` says."""
        for dim, (_, axes) in enumerate(kind.dims):
            axes = " ".join(axes)
            if axes:
                whole = whole.chunk(self.size(axes), dim)[self.at(axes)]
        return whole.clone()

    def words(self, kind):
        found = dict.fromkeys(self.program.mesh, "Replicate")
        for dim, (_, axes) in enumerate(kind.dims):
            found.update({axis: f"Shard({dim})" for axis in axes})
        found.update({axis: "Partial(sum)" for axis in kind.pending})
        return ",".join(f"{axis}={word}" for axis, word in found.items())

    def cotangent(self, name):
        """Returns this rank's part of the cotangent of a result."""
        return self.shard(self.whole[f"g[{name}]"], self.program.results[name])

    def backward(self, **results):
        """Records results, and propagates their cotangents back."""
        for name, value in results.items():
            kind = self.program.results[name]
            self.note(name, value, self.words(kind))
        torch.autograd.backward(list(results.values()), [self.cotangent(name).to(value.dtype) for name, value in results.items()])

    def loss(self, value):
        """Records the loss, a number that every rank has whole."""
        if self.dump:
            self.dump.loss(value.detach())

    def note(self, name, value, placement):
        """Records an activation."""
        if self.dump:
            self.dump.activation(name, value, placement)

    # Collectives without a gradient. They return a new tensor.

    def total(self, x, axes, op="sum"):
        x = x.detach().clone()
        if self.size(axes) > 1:
            dist.all_reduce(x, getattr(dist.ReduceOp, op.upper()), group=self._group(axes))
        return x

    def gathered(self, x, axes, dim):
        if self.size(axes) == 1:
            return x.detach().clone()
        x = x.detach().movedim(dim, 0).contiguous()
        out = x.new_empty(self.size(axes) * x.shape[0], *x.shape[1:])
        dist.all_gather_into_tensor(out, x, group=self._group(axes))
        return out.movedim(0, dim)

    def scattered(self, x, axes, dim):
        if self.size(axes) == 1:
            return x.detach().clone()
        x = x.detach().movedim(dim, 0).contiguous()
        out = x.new_empty(x.shape[0] // self.size(axes), *x.shape[1:])
        dist.reduce_scatter_tensor(out, x, group=self._group(axes))
        return out.movedim(0, dim)

    def own(self, x, axes, dim):
        return x.detach().chunk(self.size(axes), dim)[self.at(axes)].clone()

    def exchanged(self, x, axes, cut, joined):
        """An all-to-all: cuts dimension `cut`, and joins what the ranks send along `joined`."""
        n = self.size(axes)
        if n == 1:
            return x.detach().clone()
        sent = torch.stack([part.contiguous() for part in x.detach().chunk(n, cut)])
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent, group=self._group(axes))
        return torch.cat(list(received), joined)

    def turned(self, x, axes, by=1):
        """A ring: each rank gets the tensor of the rank `by` before it."""
        n = self.size(axes)
        if n == 1 or by % n == 0:
            return x.detach().clone()
        group = self._group(axes)
        x = x.detach().contiguous()
        out = torch.empty_like(x)
        ranks = dist.get_process_group_ranks(group)
        at = self.at(axes)
        moves = [dist.P2POp(dist.isend, x, ranks[(at + by) % n], group), dist.P2POp(dist.irecv, out, ranks[(at - by) % n], group)]
        for work in dist.batch_isend_irecv(moves):
            work.wait()
        return out

    # Collectives with a gradient.

    def copy(self, x, axes):
        """The identity; its gradient is summed."""
        return _Map.apply(x, torch.clone, lambda g: self.total(g, axes))

    def sum(self, x, axes):
        """The sum; every rank has its gradient whole."""
        return _Map.apply(x, lambda x: self.total(x, axes), torch.clone)

    def sum_twice(self, x, axes):
        """The sum; its gradient is summed, too, as torch.distributed.nn.functional.all_reduce does."""
        return _Map.apply(x, lambda x: self.total(x, axes), lambda g: self.total(g, axes))

    def gather(self, x, axes, dim):
        """All shards; every rank has a summand of their gradient."""
        return _Map.apply(x, lambda x: self.gathered(x, axes, dim), lambda g: self.scattered(g, axes, dim))

    def gather_copies(self, x, axes, dim):
        """All shards; every rank has their gradient whole, and takes its own part."""
        return _Map.apply(x, lambda x: self.gathered(x, axes, dim), lambda g: self.own(g, axes, dim))

    def scatter(self, x, axes, dim):
        """The sum, divided."""
        return _Map.apply(x, lambda x: self.scattered(x, axes, dim), lambda g: self.gathered(g, axes, dim))

    def cut(self, x, axes, dim):
        """This rank's part of what every rank has."""
        return _Map.apply(x, lambda x: self.own(x, axes, dim), lambda g: self.gathered(g, axes, dim))

    def exchange(self, x, axes, cut, joined):
        return _Map.apply(x, lambda x: self.exchanged(x, axes, cut, joined), lambda g: self.exchanged(g, axes, joined, cut))

    def turn(self, x, axes, by=1, back=None):
        back = -by if back is None else back
        return _Map.apply(x, lambda x: self.turned(x, axes, by), lambda g: self.turned(g, axes, back))

    # Gradients after the backward pass, in place.

    def reduce(self, names, axes, factor=1.0):
        """Sums the gradients of parameters over axes, times `factor`."""
        for name in names.split():
            gradient = self[name].grad
            gradient.copy_(self.total(gradient, axes) * factor)

    def scale(self, names, factor):
        for name in names.split():
            self[name].grad.mul_(factor)

    def _group(self, axes):
        return self.groups[tuple(axes.split())]


class Notes:
    """What the unsharded program has, by the names of a dump."""

    def __init__(self, rank):
        self.rank, self.tensors = rank, {}

    def activation(self, name, tensor, placement):
        self.tensors[f"act:{name}"] = tensor.detach().clone()
        if tensor.requires_grad:
            tensor.register_hook(lambda cotangent: self.tensors.__setitem__(f"cot:{name}", cotangent.clone()))

    def loss(self, value):
        self.tensors["loss"] = value.detach().clone()

    def norm(self, value):
        self.tensors["norm"] = value.detach().clone()

    def gradients(self):
        for name, tensor in self.rank.tensors.items():
            if tensor.grad is not None:
                self.tensors[f"grad:{name}"] = tensor.grad.clone()

    def updated(self):
        for name, tensor in self.rank.tensors.items():
            self.tensors[f"updated:{name}"] = tensor.detach().clone()


def unsharded(program):
    """Returns what the program has on one rank, as numpy arrays by the names of a dump."""
    rank = Rank(program)
    rank.dump = notes = Notes(rank)
    kinds = {argument.name: "param" if argument.is_parameter else "act" for argument in program.parsed.arguments()}
    notes.tensors.update({f"{kinds[name]}:{name}": tensor.detach().clone() for name, tensor in rank.tensors.items()})
    program.run(rank, None)
    if not any(name.startswith("grad:") for name in notes.tensors):
        notes.gradients()
    notes.updated()
    return {name: (tensor.float() if tensor.is_floating_point() else tensor).numpy() for name, tensor in notes.tensors.items()}


def run_rank(program, mistake, folder, world):
    """Runs a program on this process's rank, and writes its dump and trace. Other processes do nothing."""
    mesh, groups = world.mesh(program)
    if mesh.get_coordinate() is None:
        return
    place = dict(zip(program.mesh, mesh.get_coordinate()))
    rank = Rank(program, place, groups, mesh)
    held = program.holds(place) if program.holds else list(rank.tensors)
    parameters = {argument.name for argument in program.parsed.arguments() if argument.is_parameter}
    dumped = {name: rank[name] for name in held if rank[name].requires_grad}
    places = {name: rank.placements[name] for name in dumped}
    inputs = {name: dumped.pop(name) for name in list(dumped) if name not in parameters}
    with record(folder, dumped, mesh, inputs=inputs, placements=places) as rank.dump:
        with torch.autocast("cpu", torch.bfloat16, enabled=AUTOCAST[0]):
            program.run(rank, mistake)


class World:
    """The ranks of all programs: processes of one group, with the meshes that programs ask for."""

    def __init__(self):
        self._meshes = {}

    def mesh(self, program):
        """Returns a DeviceMesh, and groups by sets of axes. All processes call this in one order."""
        key = tuple(program.mesh.items())
        if key not in self._meshes:
            self._meshes[key] = self._made(program.mesh)
        return self._meshes[key]

    def _made(self, axes):
        numbers = torch.arange(int(numpy.prod(list(axes.values())))).reshape(*axes.values())
        mesh = dist.DeviceMesh("cpu", numbers, mesh_dim_names=tuple(axes))
        groups = {}
        for count in range(1, len(axes) + 1):
            for several in itertools.permutations(axes, count):
                groups[several] = self._group(mesh, numbers, axes, several)
        return mesh, groups

    def _group(self, mesh, numbers, axes, several):
        """Returns the group of this process along axes; ranks are in the order of the axes."""
        if len(several) == 1:
            return mesh.get_group(several[0]) if mesh.get_coordinate() is not None else None
        dims = [list(axes).index(axis) for axis in several]
        others = [d for d in range(numbers.ndim) if d not in dims]
        found = None
        for ranks in numbers.permute(*others, *dims).reshape(-1, int(numpy.prod([numbers.shape[d] for d in dims]))).tolist():
            group = dist.new_group(ranks, group_desc="mesh_" + "_".join(several), sort_ranks=False)
            found = group if dist.get_rank() in ranks else found
        return found
