"""Compares results and all gradients of three examples with jax.grad.

    python3 test/jax/compare.py build/bin/tpsp-run examples
    python3 test/jax/compare.py all.safetensors vocab-parallel.mlir

The second takes what `tpsp-run --grad --save-all` of one of them has written.

tpsp runs sharded in f32 on the CPU and writes everything that it read and made;
JAX computes the same, unsharded, in f64, from the same arguments. Exit status
77, which ctest reads as skipped, where JAX is not installed.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import jax
except ImportError:
    print("skipped: JAX is not installed (pip install jax)")
    sys.exit(77)

import numpy as np

import safetensors
from models import EXAMPLES

TOLERANCE = 1e-5


def run(tpsp_run, example, folder):
    path = Path(folder) / "all.safetensors"
    subprocess.run(
        [tpsp_run, example, "--grad", "--quiet", "--save-all", path], check=True
    )
    return safetensors.load(path)


def error(got, want):
    return np.linalg.norm(got - want) / max(np.linalg.norm(want), 1e-30)


def compare(name, model, result, arrays):
    """The number of tensors that differ."""
    made = {result} | {n for n in arrays if n.startswith("g[")}
    wide = lambda a: a.astype(np.float64) if a.dtype == np.float32 else a
    arguments = {n: wide(a) for n, a in arrays.items() if n not in made}
    floats = {n: a for n, a in arguments.items() if a.dtype == np.float64}
    integers = {n: a for n, a in arguments.items() if n not in floats}
    want, pull_back = jax.vjp(lambda p: model({**p, **integers}), floats)
    (gradients,) = pull_back(wide(arrays[f"g[{result}]"]).reshape(want.shape))
    errors = {result: error(arrays[result], want)}
    for n, gradient in gradients.items():
        errors[f"g[{n}]"] = error(arrays[f"g[{n}]"], np.asarray(gradient))
    # A gradient that is zero in mathematics is noise on both sides.
    size = {n: np.sqrt(np.mean(np.square(arrays[n]))) for n in errors}
    floor = 1e-6 * max(size.values())
    bad = [n for n, e in errors.items() if e > TOLERANCE and size[n] > floor]
    worst = max(e for n, e in errors.items() if size[n] > floor)
    print(f"{name:24} {len(errors):3} tensors, largest error {worst:.1e}")
    for n in bad:
        print(f"  {n}: {errors[n]:.1e} is beyond {TOLERANCE:.0e}")
    return len(bad)


def main(tpsp_run, examples):  # or a file, and the example's name
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    bad = 0
    if tpsp_run.endswith(".safetensors"):
        arrays = safetensors.load(Path(tpsp_run))
        (chosen,) = (e for e in EXAMPLES if e[0] == examples)
        return 1 if compare(*chosen, arrays) else 0
    for name, model, result in EXAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            arrays = run(tpsp_run, Path(examples) / name, folder)
        bad += compare(name, model, result, arrays)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
