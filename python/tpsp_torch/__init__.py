"""Exports PyTorch modules to tpsp, records their parallel steps, and applies plans to them."""

from .apply import PlanError, apply
from .export import export
from .record import record

__all__ = ["PlanError", "apply", "export", "record"]
