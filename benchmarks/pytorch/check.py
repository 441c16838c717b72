"""Checks that llama_layer.py computes the same as
examples/llama3-8b-block.mlir. Compares the results and all gradients of a small
layer from the same data, in PyTorch in f64 and by tpsp in f32 on two ranks.

    python3 benchmarks/pytorch/check.py build/bin/tpsp-run examples

The exit status is 77, which ctest reads as skipped, if PyTorch is not
installed.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
except ImportError:
    print("skipped: PyTorch is not installed (pip install torch)")
    sys.exit(77)

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "test" / "jax"))
import safetensors
from example import resized
from llama_layer import NAMES, layer, rotations, step

TOLERANCE = 1e-5


def tensors_of(tpsp_run, example, folder):
    """Returns all tensors that tpsp reads and makes, by name."""
    model = Path(folder) / "layer.mlir"
    sizes = dict(b=2, s=44, d=56, h=4, r=3, k=10, e=92)
    model.write_text(resized(Path(example).read_text(), **sizes))
    path = Path(folder) / "all.safetensors"
    subprocess.run(
        [tpsp_run, model, "--mesh", "tp=2", "--grad", "--quiet", "--save-all", path],
        check=True,
    )
    return {
        name: torch.from_numpy(array.astype(np.float64))
        for name, array in safetensors.load(path).items()
    }


def main(tpsp_run, examples):
    with tempfile.TemporaryDirectory() as folder:
        example = Path(examples) / "llama3-8b-block.mlir"
        tensors = tensors_of(tpsp_run, example, folder)
    x = tensors["x"].requires_grad_()
    parameters = [tensors[name].requires_grad_() for name in NAMES]
    cos, sin = rotations(x.shape[1], tensors["wq"].shape[2], x)
    made = step(layer, x, cos, sin, parameters, tensors["g[z]"])
    names = ["z", "g[x]", *(f"g[{name}]" for name in NAMES)]
    failed = False
    for name, want in zip(names, made):
        error = ((tensors[name] - want).norm() / want.norm()).item()
        failed |= not error < TOLERANCE
        print(f"{name:20} {error:.1e}")
    sys.exit(failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
