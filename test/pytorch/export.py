"""Checks tpsp_torch.export: what it writes, warns of and refuses.

    python3 test/pytorch/export.py

The exit status is 77, which ctest reads as skipped, if PyTorch is not installed.
"""

import sys
import warnings
from pathlib import Path

try:
    import torch
except ImportError:
    print("skipped: PyTorch is not installed (pip install torch)")
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
import tpsp_torch


class Doubled(torch.autograd.Function):
    """Has a backward pass that is not that of its forward pass."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Network(torch.nn.Module):
    def __init__(self, doubles=False, detaches=False):
        super().__init__()
        self.first, self.doubles, self.detaches = torch.nn.Linear(3, 3), doubles, detaches
        self.register_buffer("scale", torch.ones(3))

    def forward(self, x):
        y = self.first(x) * self.scale
        if self.detaches:
            with torch.no_grad():
                y = y.exp()
        return (Doubled.apply(y) if self.doubles else y).sum()


def exported(module, **options):
    """Returns the program and the warnings of this package."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        program = tpsp_torch.export(module, (torch.ones(2, 3),), **options)
    return program, [str(each.message) for each in found if each.filename == __file__]


def operations(program):
    return [str(node.target) for node in program.graph.nodes]


def check_warnings():
    assert exported(Network())[1] == []
    said = exported(Network(doubles=True))[1]
    assert len(said) == 1 and said[0].startswith("Doubled: an archive has no backward pass"), said


def check_regions():
    assert "aten.detach.default" in operations(exported(Network(detaches=True))[0])
    assert "aten.detach.default" not in operations(exported(Network())[0])


def check_refusals():
    with torch.device("meta"):
        module = Network()
    for options, said in [({}, "3 tensors are on the meta device"), ({"weights": False}, "1 tensors are on the meta device")]:
        try:
            exported(module, **options)
        except ValueError as error:
            assert said in str(error), error
        else:
            raise AssertionError(f"not refused: {options}")


if __name__ == "__main__":
    check_warnings()
    check_regions()
    check_refusals()
    print("exports: right")
