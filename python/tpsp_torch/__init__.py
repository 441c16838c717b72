"""Writes PyTorch modules as archives that tpsp-import reads."""

from .export import export

__all__ = ["export"]
