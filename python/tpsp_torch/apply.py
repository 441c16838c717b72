"""Puts a plan of tpsp-plan on a PyTorch module, with DTensor and fully_shard."""

import inspect
import math
import os
import re

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.utils import _pytree

from . import local_operations
from .placements import axes_of, placements_of
from .products import gathered_once
from .program import Tensor, calls_of, read
from .results import ABSENT, MEAN, PART, REFUSED, SUM, WHOLE, count, results


# The type of a parameter that a plan lacks.
_WHOLE = Tensor("f32", ())


class PlanError(ValueError):
    """A plan that is not the module's, or that torch cannot express. The message names the parameter or the axis."""


def apply(module, plan, mesh, *, whole_batch=False, permuted=(), reshard_after_forward=True):
    """Places the parameters and activations of `module` as a plan says, in place. Returns the module.

        module = tpsp_torch.apply(module, "placed.mlir", mesh)

    plan: a program in short form, or its file: what `tpsp-plan -o` or `tpsp-import --place`
        wrote of this module's own archive.
    mesh: a DeviceMesh that has the plan's axes, by name and size, in any order.
    whole_batch: every rank is given the whole batch, and takes its part. Otherwise a rank
        is given its part, as from a distributed sampler.
    permuted: names of fused parameters that an axis may divide, because their module
        works on the shards as they are.
    reshard_after_forward: as of fully_shard: False keeps gathered parameters (ZeRO-2).

    Axes that divide the batch become data parallelism: fully_shard for parameters that
    they divide, an average of gradients for others. Other axes make parameters and
    activations DTensors. Results that are divided over the batch stay the rank's part.
    Others, as losses, are means or sums over the batch, or means over the labels that
    count, as the plan's operations say. Each rank's value becomes that of the whole batch,
    and its gradient is the rank's own, whose mean over the ranks is the gradient.

    Raises PlanError for a plan of another module, for axes that torch cannot express (of
    stages, of the sequence, of experts), for fused parameters that an axis divides, and
    for results that do not follow from the ranks' results.
    """
    _Application(module, plan, mesh, whole_batch, set(permuted), reshard_after_forward).run()
    return module


class _Application:
    def __init__(self, module, plan, mesh, whole_batch, permuted, reshard):
        self.module, self.mesh = module, mesh
        self.whole_batch, self.permuted, self.reshard = whole_batch, permuted, reshard
        self.program = read(_text_of(plan))
        self.main = self.program.main()
        self.inputs = [argument for argument in self.main.arguments if not argument.is_parameter]
        self.axes = {axis: size for axis, size in self.program.mesh.items() if size > 1}
        self.data = self._data_axes()
        self.model = {axis: size for axis, size in axes_of(mesh).items() if axis in self.axes and axis not in self.data}
        self.model_mesh = mesh[tuple(self.model)] if self.model else None
        self.results, self.factors = self._results(), {}

    def run(self):
        self._check_mesh()
        placed = self._placed_parameters()
        self._check_fused()
        shards = self._shard_axes(placed)
        if self.model:
            # Positions and masks that a module makes itself are the same on all ranks.
            DTensor._op_dispatcher._allow_implicit_replication = True
            local_operations.register()
            self._distribute(placed)
            self._add_boundaries()
        self._average_gradients(placed, shards)
        if shards:
            self._fully_shard(placed, shards)
        self.module.register_forward_pre_hook(self._take_inputs, with_kwargs=True)
        self.module.register_forward_hook(self._give_outputs)

    # What the plan says.

    def _data_axes(self):
        """Returns the axes that divide the first index of inputs, major first."""
        found = ()
        for argument in self.inputs:
            for number, (index, axes) in enumerate(argument.type.dims):
                axes = tuple(axis for axis in axes if axis in self.axes)
                if number > 0 and axes:
                    raise PlanError(f"axis @{axes[0]} divides '{index}' of the input '{argument.name}': torch's modules need whole "
                                    "sequences; plan with tpsp-plan --for torch")
                if axes and found and axes != found:
                    raise PlanError(f"axis @{(set(axes) ^ set(found)).pop()} divides the input '{argument.name}', and not another input's batch")
                found = axes or found
        for axis in self.axes:
            if self.program.roles.get(axis) == "stage":
                raise PlanError(f"axis @{axis} is of stages: a module is not cut; plan with tpsp-plan --for torch")
            if axis in found and self.program.roles.get(axis) == "model":
                raise PlanError(f"axis @{axis} divides the batch and is a model axis, as of experts: torch would gather the parameters; "
                                "plan with it as a data axis, or with tpsp-plan --for torch")
        return found

    def _check_mesh(self):
        given = axes_of(self.mesh)
        for axis, size in self.axes.items():
            if given.get(axis) != size:
                has = f"{given[axis]} ranks" if axis in given else f"no such axis, but {', '.join(given)}"
                raise PlanError(f"axis @{axis} has {size} ranks in the plan, and the mesh has {has}; make the mesh with the plan's names and sizes")
        extra = [axis for axis, size in given.items() if size > 1 and axis not in self.axes]
        if extra:
            raise PlanError(f"axis @{extra[0]} of the mesh is not in the plan; give the mesh without it: mesh[{tuple(self.axes)}]")

    def _placed_parameters(self):
        """Returns the types of the module's parameters by name, or None for parameters that the plan lacks."""
        planned = {argument.name: argument.type for argument in self.program.arguments() if argument.is_parameter}
        own = dict(self.module.named_parameters())
        buffers = dict(self.module.named_buffers())
        lacking = [name for name in planned if name not in own and name not in buffers and not name.startswith("constant.")]
        if lacking:
            raise PlanError(f"the plan has a parameter '{lacking[0]}', which the module lacks; it has: {', '.join(list(own)[:4])}, ...; "
                            "export, import and plan this module")
        for name, kind in planned.items():
            if name in own and self.program.shape(kind) != tuple(own[name].shape):
                raise PlanError(f"parameter '{name}' has the shape {tuple(own[name].shape)}, and {self.program.shape(kind)} in the plan")
            if name in own:
                self._check_order(name, kind)
        return {name: planned.get(name, _WHOLE) for name in own}

    def _check_order(self, name, kind):
        """Refuses shards in an order that fully_shard does not have: it divides what other axes have divided."""
        for index, axes in kind.dims:
            axes = [axis for axis in axes if axis in self.axes]
            known = [axis for axis in self.model if axis in axes] + [axis for axis in axes if axis in self.data]
            if axes != known:
                raise PlanError(f"axis @{axes[0]} divides '{index}' of parameter '{name}' first, where torch divides in the order @{'@'.join(known)}; "
                                "write this order")

    def _check_fused(self):
        """Refuses parameters that an axis divides along an index whose parts the program cuts out."""
        for name, function, argument in self._parameters_by_function():
            for index, axes in argument.type.dims:
                axes = [axis for axis in axes if axis in self.model]
                if axes and name not in self.permuted and _is_cut(function, index):
                    raise PlanError(f"parameter '{name}' is fused: its parts are cut out of '{index}', which axis @{axes[0]} divides; plan it "
                                    "whole along this axis, or permute it so that every shard has its own parts, and name it in permuted=")

    def _parameters_by_function(self):
        """Yields (full name, function, argument) of every parameter."""
        for argument in self.main.arguments:
            if argument.is_parameter:
                yield argument.name, self.main, argument
        for call, _ in self._calls():
            callee = self.program.functions[call.function]
            for argument in callee.arguments[len(call.operands):]:
                yield call.full_name(argument.name), callee, argument

    def _calls(self):
        """Yields the calls with names of the main function, and the paths of their modules."""
        for statement in self.main.statements:
            for call in calls_of(statement):
                if call.names is not None and call.names.endswith(".*"):
                    yield call, call.names[:-2]

    def _shard_axes(self, placed):
        """Returns the data axes that divide parameters; all parameters that they divide must agree."""
        found = {frozenset(kind.places().keys() & set(self.data)) for kind in placed.values()} - {frozenset()}
        if len(found) > 1:
            axis = sorted(frozenset.union(*found) - frozenset.intersection(*found))[0]
            raise PlanError(f"axis @{axis} divides some parameters that another data axis divides alone: fully_shard divides all of a "
                            "module's parameters over the same axes; plan with tpsp-plan --for torch")
        if not found:
            return ()
        axes = tuple(axis for axis in axes_of(self.mesh) if axis in next(iter(found)))
        for name, kind in placed.items():
            dims = kind.places()
            if len({dims[axis] for axis in axes if axis in dims}) > 1:
                raise PlanError(f"axes @{', @'.join(axes)} divide parameter '{name}' along different dimensions, which fully_shard cannot; "
                                "place both on one index, or plan with tpsp-plan --for torch")
        copied = [axis for axis in self.data if axis not in axes]
        if len(axes) > 1 or len(copied) > 1:
            raise PlanError(f"axis @{(axes if len(axes) > 1 else copied)[-1]}: fully_shard takes one axis that divides and one of copies; "
                            "plan with tpsp-plan --for torch")
        return axes

    # Model axes.

    def _distribute(self, placed):
        """Makes every parameter a DTensor over the model axes."""
        made = {}
        for name, parameter in self.module.named_parameters(remove_duplicate=False):
            path, _, leaf = name.rpartition(".")
            if parameter not in made:
                made[parameter] = self._distributed(parameter, placed[name])
            self.module.get_submodule(path)._parameters[leaf] = made[parameter]
        for each in self.module.modules():
            if isinstance(each, torch.nn.modules.conv._ConvNd):
                local_operations.compute_whole(each, self.model_mesh)

    def _distributed(self, parameter, kind):
        tensor = distribute_tensor(parameter.detach(), self.model_mesh, placements_of(kind, self.model))
        return torch.nn.Parameter(tensor, requires_grad=parameter.requires_grad)

    def _add_boundaries(self):
        """Redistributes activations where functions of the plan begin and end, and completes sums where modules end."""
        outside = None
        for call, path in self._calls():
            callee = self.program.functions[call.function]
            layer = self._submodule(path)
            if layer is None:
                continue
            before = placements_of(callee.arguments[0].type, self.model)
            after = placements_of(callee.results[0], self.model)
            outside = outside or before
            layer.register_forward_pre_hook(self._before(before), with_kwargs=True)
            layer.register_forward_hook(self._after(after))
            self._complete_sums(layer, after)
            self._gather_norms(callee, call.full_name)
        self._gather_norms(self.main, lambda name: name)
        self._complete_sums(self.module, outside or [Replicate()] * len(self.model))

    def _gather_norms(self, function, full_name):
        """Results of norms that only go to products with divided parameters are gathered once, and their gradients are summed once."""
        for norm in gathered_once(function, self.model):
            module = self._submodule(full_name(norm).rpartition(".")[0])
            if module is not None:
                module.register_forward_hook(_Move.whole)

    def _complete_sums(self, module, placements):
        """No sum stays pending after a module that has parameters of its own."""
        for each in module.modules():
            if each._parameters and not getattr(each, "_tpsp_completes_sums", False):
                each._tpsp_completes_sums = True
                each.register_forward_hook(self._completed(placements))

    def _completed(self, placements):
        def hook(module, arguments, output):
            if isinstance(output, DTensor) and any(p.is_partial() for p in output.placements):
                return _moved(output, [wanted if has.is_partial() else has for has, wanted in zip(output.placements, placements)])
            return output
        return hook

    def _before(self, placements):
        def hook(module, arguments, named):
            if arguments and isinstance(arguments[0], torch.Tensor):
                return (self._as(arguments[0], placements), *arguments[1:]), named
            if isinstance(named.get("hidden_states"), torch.Tensor):
                named = {**named, "hidden_states": self._as(named["hidden_states"], placements)}
            return arguments, named
        return hook

    def _after(self, placements):
        def hook(module, arguments, output):
            if isinstance(output, tuple) and output:
                return (self._as(output[0], placements), *output[1:])
            return self._as(output, placements) if isinstance(output, torch.Tensor) else output
        return hook

    def _as(self, tensor, placements):
        if not isinstance(tensor, DTensor):
            tensor = DTensor.from_local(tensor, self.model_mesh, [Replicate()] * len(self.model))
        return _moved(tensor, placements)

    # Data axes.

    def _average_gradients(self, placed, shards):
        """Gradients of parameters that fully_shard does not divide are averaged over the data axes."""
        groups = [self.mesh.get_group(axis) for axis in self.data]
        for name, parameter in self.module.named_parameters():
            if parameter.requires_grad and not placed[name].places().keys() & set(shards):
                parameter.register_hook(_average(groups, getattr(parameter, "placements", None)))

    def _fully_shard(self, placed, shards):
        copied = tuple(axis for axis in self.data if axis not in shards)
        places = {parameter: placed[name].places() for name, parameter in self.module.named_parameters()}
        dims = {parameter: its[shards[0]] for parameter, its in places.items() if shards[0] in its}
        ignored = {parameter for parameter in self.module.parameters() if parameter not in dims}
        mesh = self.mesh[copied + shards] if copied else self.mesh[shards[0]]
        options = {"mesh": mesh, "reshard_after_forward": self.reshard, "ignored_params": ignored,
                   "shard_placement_fn": lambda parameter: Shard(dims[parameter])}
        for _, path in self._calls():
            layer = self._submodule(path)
            if layer is not None and any(parameter in dims for parameter in layer.parameters()):
                fully_shard(layer, **options)
        fully_shard(self.module, **options)

    # Inputs and outputs.

    def _results(self):
        """Returns how the module's results follow from those of ranks: docs/PyTorch.md, Applying a plan."""
        found = [value for value in results(self.program, self.data, self._takes) if value.how != ABSENT]
        for number, value in enumerate(found):
            if value.how == REFUSED:
                way = "return its operands as results of the module and compute the rest outside, or " if value.is_outside else ""
                raise PlanError(f"result {number} of the module does not follow from the ranks' results, because each has its own samples: "
                                f"{value.reason}; {way}plan without axes that divide the batch: @{', @'.join(self.data)}")
        return found

    def _takes(self, name):
        taken = inspect.signature(self.module.forward).parameters
        return name in taken or any(each.kind == each.VAR_KEYWORD for each in taken.values())

    def _take_inputs(self, module, arguments, named):
        if not self.data:
            return arguments, named
        bound = inspect.signature(module.forward).bind(*arguments, **named)
        if self.whole_batch:
            self._take_parts(bound)
        given = _by_name(bound)
        weights = {value.weight for value in self.results if value.weight and isinstance(given.get(value.weight.source.input), torch.Tensor)}
        self.factors = {weight: self._factor(weight, given[weight.source.input]) for weight in sorted(weights, key=str)}
        if not self.whole_batch and any(value.how == MEAN and not value.weight for value in self.results):
            self.factors[None] = self._samples(given)
        return bound.args, bound.kwargs

    def _samples(self, given):
        """Returns this rank's number of samples, divided by the mean of all ranks' numbers."""
        own = next((given[each.name] for each in self.inputs
                    if each.type.dims and each.type.dims[0][1] and isinstance(given.get(each.name), torch.Tensor)), None)
        if own is None:
            raise PlanError("no argument of this call has the batch, so the ranks' means cannot be averaged; call the module as it was exported")
        count = own.new_full((), own.shape[0], dtype=torch.float32)
        return count * self._ranks() / self._sum(count)

    def _factor(self, weight, tensor):
        """Returns this rank's count, divided by the mean of all ranks' counts."""
        try:
            own = count(weight, tensor, self.program.extents)
        except ValueError as error:
            raise PlanError(f"the input '{weight.source.input}': {error}") from error
        total = self._sum(own)
        if weight.low is not None:
            own, total = own.clamp(min=weight.low), total.clamp(min=weight.low)
        return own * self._ranks() / total

    def _ranks(self):
        """Returns the number of parts of the batch."""
        return math.prod(self.axes[axis] for axis in self.data)

    def _sum(self, value):
        value = value.clone()
        for axis in self.data:
            dist.all_reduce(value, group=self.mesh.get_group(axis))
        return value

    def _take_parts(self, bound):
        for argument in self.inputs:
            if not argument.type.dims or not argument.type.dims[0][1]:
                continue
            if argument.name not in bound.arguments:
                raise PlanError(f"the plan's input '{argument.name}' is no argument of forward, which has: {', '.join(bound.arguments)}")
            tensor = bound.arguments[argument.name]
            if tensor.shape[0] % self._ranks():
                raise PlanError(f"the batch of the input '{argument.name}' has {tensor.shape[0]} samples, which {self._ranks()} ranks cannot "
                                "divide evenly; give a multiple")
            for axis in argument.type.dims[0][1]:
                if axis in self.axes:
                    tensor = tensor.chunk(self.axes[axis])[self.mesh.get_local_rank(axis)]
            bound.arguments[argument.name] = tensor

    def _give_outputs(self, module, arguments, output):
        leaves, structure = _pytree.tree_flatten(output)
        leaves = [each.full_tensor() if isinstance(each, DTensor) else each for each in leaves]
        if self.data:
            places = [place for place, each in enumerate(leaves) if isinstance(each, torch.Tensor)]
            for place, value in self._matched(leaves, places):
                leaves[place] = self._given(leaves[place], value)
        return _pytree.tree_unflatten(leaves, structure)

    def _matched(self, leaves, places):
        """Returns the tensors of an output, by their places, with the plan's results: all, or those that are numbers."""
        if len(places) == len(self.results) and all(value.indices or leaves[place].numel() == 1 for place, value in zip(places, self.results)):
            return zip(places, self.results)
        numbers = [place for place in places if leaves[place].ndim == 0]
        results = [value for value in self.results if not value.indices]
        others = [value for value in self.results if value.indices and value.how in (MEAN, SUM)]
        if not (numbers or others) and all(each is None or isinstance(each, (torch.Tensor, int, float, str)) for each in leaves):
            return ()  # as a call without labels, which has no loss
        if len(numbers) != len(results) or others:
            raise PlanError(f"the module returned {len(places)} tensors, and the plan has {len(self.results)} results; call it as it was exported")
        return zip(numbers, results)

    def _given(self, tensor, value):
        if value.how in (WHOLE, PART):
            return tensor
        if value.how == SUM and not tensor.is_floating_point():
            return self._sum(tensor)
        if value.weight and value.weight not in self.factors:
            raise PlanError(f"the input '{value.weight.source.input}', which the plan's mean counts, is no tensor among the arguments of this call")
        factor = self._ranks() if value.how == SUM else self.factors.get(value.weight, 1)
        if value.weight:
            # A mean over no labels is NaN, and does not count.
            tensor = torch.where(factor == 0, torch.zeros_like(tensor), tensor * factor)
        else:
            tensor = tensor * factor
        return tensor + (self._sum(tensor.detach()) / self._ranks() - tensor.detach())

    def _submodule(self, path):
        try:
            return self.module.get_submodule(path)
        except AttributeError:
            return None


def _text_of(plan):
    text = os.fspath(plan)
    if "\n" in text:
        return text
    with open(text, encoding="utf-8") as file:
        return file.read()


def _is_cut(function, index):
    return any(statement.operation in ("cut", "take") and re.search(rf'index\s*=\s*"{re.escape(index)}"', statement.text)
               for statement in function.statements)


def _moved(tensor, placements):
    """Redistributes; dimensions that the tensor lacks stay whole."""
    placements = [p if isinstance(p, Replicate) or p.dim < tensor.ndim else Replicate() for p in placements]
    return tensor if list(tensor.placements) == placements else _Move.apply(tensor, placements)


class _Move(torch.autograd.Function):
    """Redistributes, and redistributes the gradient back: the gradient of a pending sum is whole."""

    @staticmethod
    def forward(ctx, tensor, placements):
        ctx.back = [Replicate() if p.is_partial() else p for p in tensor.placements]
        return tensor.redistribute(placements=placements)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.redistribute(placements=ctx.back), None

    @classmethod
    def whole(cls, module, arguments, output):
        """A hook that gathers a module's output, and sums its gradient if that is pending."""
        return cls.apply(output, [Replicate()] * output.device_mesh.ndim) if isinstance(output, DTensor) else output


def _average(groups, placements):
    """Returns a hook that averages a gradient over groups, and gives it its parameter's placements."""
    def hook(gradient):
        if placements is not None:
            gradient = gradient.redistribute(placements=placements)
        local = gradient.to_local() if placements is not None else gradient
        local = local.clone()
        for group in groups:
            dist.all_reduce(local, group=group)
            local /= dist.get_world_size(group)
        if placements is None:
            return local
        return DTensor.from_local(local, gradient.device_mesh, placements, shape=gradient.shape, stride=gradient.stride())
    return hook


def _by_name(bound):
    """Returns the arguments of a call by name, with those of **kwargs."""
    found = dict(bound.arguments)
    for name, each in bound.signature.parameters.items():
        if each.kind == each.VAR_KEYWORD:
            found.update(found.pop(name, {}))
    return found
