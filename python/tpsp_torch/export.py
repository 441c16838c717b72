"""Exports a module with torch.export, in the form that tpsp-import reads."""

import contextlib

import torch


def export(module, args=(), path=None, *, kwargs=None, weights=True):
    """Exports `module`, called with `args` and `kwargs`, and saves it to `path`.

    Parts that run without gradient (torch.no_grad) are detached, so that gradients
    stay those of the module. With weights=False, parameters are saved as single
    numbers: the archive is small, and the program is the same. Buffers are saved in
    full. Returns the exported program. Raises what torch.export raises.
    """
    with contextlib.nullcontext() if weights else _without_weights(module):
        exported = torch.export.export(module, tuple(args), kwargs=kwargs or {}, strict=False)
        _detach_regions(exported.graph_module)
        exported = exported.run_decompositions({})
        if path is not None:
            torch.export.save(exported, path)
    return exported


def _detach_regions(graph_module):
    """Detaches the results of regions without gradient, which decomposing dissolves.

    Regions may be in modules that other regions (autocast) are made of.
    """
    for part in graph_module.modules():
        if not isinstance(part, torch.fx.GraphModule):
            continue
        for node in list(part.graph.nodes):
            if str(node.target) == "wrap_with_set_grad_enabled" and not node.args[0]:
                _detach_results(part.graph, node)
        part.recompile()


def _detach_results(graph, region):
    for result in list(region.users):
        value = result.meta.get("val")
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
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
