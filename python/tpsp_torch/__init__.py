"""Exports PyTorch modules to tpsp, records their parallel steps, and applies plans to them."""

from .export import export
from .record import record

__all__ = ["export", "record"]
