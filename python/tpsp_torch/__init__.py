"""Exports PyTorch modules to tpsp, records their parallel steps, and applies plans to them."""

import importlib

from .export import export

__all__ = ["PlanError", "apply", "export", "record"]

# What needs torch.distributed is imported when it is first used.
_LATER = {"apply": "apply", "PlanError": "apply", "record": "record"}


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    module = importlib.import_module(f".{_LATER[name]}", __name__)
    for each, home in _LATER.items():
        if home == _LATER[name]:
            globals()[each] = getattr(module, each)
    return globals()[name]
