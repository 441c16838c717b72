"""Exports a module with torch.export, in the form that tpsp-import reads."""

import contextlib
import warnings

import torch


def export(module, args=(), path=None, *, kwargs=None, weights=True, dynamic_shapes=None):
    """Exports `module`, called with `args` and `kwargs`, and saves it to `path`.

    Parts that run without gradient (torch.no_grad) are detached, so that gradients
    stay those of the module. With weights=False, parameters are saved as single
    numbers: the archive is small, and the program is the same. Buffers are saved in
    full, so they must not be on the meta device. `dynamic_shapes` is that of torch.export:
    tpsp-import --extent gives such dimensions their extents. Returns the exported program.
    Raises what torch.export raises, and ValueError for tensors without values. Warns of
    functions with a backward pass of their own, which the archive lacks.
    """
    _check_has_values(module, weights)
    with contextlib.nullcontext() if weights else _without_weights(module), _noting_functions():
        exported = torch.export.export(
            module, tuple(args), kwargs=kwargs or {}, strict=False, dynamic_shapes=dynamic_shapes)
        _detach_regions(exported.graph_module)
        exported = exported.run_decompositions({})
        if path is not None:
            torch.export.save(exported, path)
    return exported


def _check_has_values(module, weights):
    """Raises ValueError if a tensor that is saved in full is on the meta device."""
    tensors = list(module.named_buffers()) + (list(module.named_parameters()) if weights else [])
    empty = [name for name, tensor in tensors if tensor.is_meta]
    if empty:
        way = "weights=False needs no parameters, but buffers" if not weights else "materialise them, or give weights=False for parameters"
        raise ValueError(f"{len(empty)} tensors are on the meta device and have no values: {', '.join(empty[:3])}"
                         f"{', ...' if len(empty) > 3 else ''}; {way}")


@contextlib.contextmanager
def _noting_functions():
    """Warns of the autograd functions that the block calls."""
    original, found = torch.autograd.Function.__dict__["apply"], set()

    def apply(cls, *arguments, **named):
        found.add(cls.__name__)
        return original.__get__(None, cls)(*arguments, **named)

    torch.autograd.Function.apply = classmethod(apply)
    try:
        yield
    finally:
        torch.autograd.Function.apply = original
    if found:
        warnings.warn(f"{', '.join(sorted(found))}: an archive has no backward pass of a torch.autograd.Function, so gradients will be those "
                      "of its forward pass", stacklevel=4)


def _detach_regions(graph_module):
    """Detaches the results of regions without gradient, which decomposing dissolves.

    Regions may be in modules that other regions (autocast) are made of.
    """
    for part in graph_module.modules():
        if not isinstance(part, torch.fx.GraphModule):
            continue
        for node in list(part.graph.nodes):
            if str(node.target) == "wrap_with_set_grad_enabled" and not node.args[0]:
                _detach_results(part, node)
        part.recompile()


# Operations that return their operand itself if it already is what they make.
_IDENTITIES = ("aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten.contiguous.default")


def _is_identity(node):
    if str(node.target) not in _IDENTITIES:
        return False
    old, new = node.args[0].meta["val"], node.meta["val"]
    return (old.dtype, old.device, old.stride()) == (new.dtype, new.device, new.stride())


def _handed_through(graph_module, region):
    """The numbers of the region's results that are its operands: they keep their gradient."""
    inner = getattr(graph_module, str(region.args[1].target))
    results = next(node for node in inner.graph.nodes if node.op == "output").args[0]
    kept = set()
    for i, one in enumerate(results if isinstance(results, (tuple, list)) else [results]):
        while isinstance(one, torch.fx.Node) and _is_identity(one):
            one = one.args[0]
        if isinstance(one, torch.fx.Node) and one.op == "placeholder":
            kept.add(i)
    return kept


def _detach_results(graph_module, region):
    graph, kept = graph_module.graph, _handed_through(graph_module, region)
    for result in list(region.users):
        value = result.meta.get("val")
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or result.args[1] in kept:
            continue
        with graph.inserting_after(result):
            detached = graph.call_function(torch.ops.aten.detach.default, (result,))
        detached.meta = dict(result.meta)
        result.replace_all_uses_with(detached, delete_user_cb=lambda user, made=detached: user is not made)


@contextlib.contextmanager
def _without_weights(module):
    """Replaces every parameter by one number, expanded; tied ones stay tied."""
    made, places = {}, []
    for owner in module.modules():
        for name, parameter in list(owner._parameters.items()):
            if parameter is None:
                continue
            if parameter not in made:
                one = torch.zeros((), dtype=parameter.dtype).expand(parameter.shape)
                made[parameter] = torch.nn.Parameter(one, requires_grad=parameter.requires_grad)
            places.append((owner, name, parameter))
            owner._parameters[name] = made[parameter]
    try:
        yield
    finally:
        for owner, name, parameter in places:
            owner._parameters[name] = parameter
