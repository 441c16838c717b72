"""Compares results and all gradients of the examples with jax.grad.

    python3 test/jax/compare.py build/bin/tpsp-run examples
    python3 test/jax/compare.py build/bin/tpsp-run examples/gqa.mlir all.safetensors

The second reads the file that `tpsp-run --grad --save-all` of the example has
written.

tpsp runs sharded in f32 on the CPU and writes everything that it read and made.
JAX computes the same, unsharded, in f64, from the same arguments. The exit
status is 77, which ctest reads as skipped, if JAX is not installed.
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
from translate import Program

TOLERANCE = 1e-5
# These take minutes in f64 and have nothing that the smaller blocks lack.
LARGE = {"llama3-70b-block.mlir", "llama3-8b-block.mlir"}
# This takes more than 20 GiB in f64, so other extents are compared.
SMALLER = {"gpt2-small.mlir": "b=2,s=48,d=96,e=40,v=503,p=48"}


def run(tpsp_run, example, folder, extents):
    path = Path(folder) / "all.safetensors"
    subprocess.run(
        [tpsp_run, example, "--grad", "--quiet", "--save-all", path,
         *(["--extent", extents] if extents else [])], check=True
    )
    return safetensors.load(path)


def error(got, want):
    return np.linalg.norm(got - want) / max(np.linalg.norm(want), 1e-30)


def compare(name, program, arrays):
    """Returns the number of tensors that differ."""
    names = {argument for argument, _ in program.arguments}
    result = next(n[2:-1] for n in arrays
                  if n.startswith("g[") and n[2:-1] not in names)
    wide = lambda a: a.astype(np.float64) if a.dtype == np.float32 else a
    arguments = {n: wide(a) for n, a in arrays.items() if n in names}
    floats = {n: a for n, a in arguments.items() if a.dtype == np.float64}
    integers = {n: a for n, a in arguments.items() if n not in floats}
    want, pull_back = jax.vjp(lambda p: program({**p, **integers}), floats)
    (gradients,) = pull_back(wide(arrays[f"g[{result}]"]).reshape(want.shape))
    errors = {result: error(arrays[result], want)}
    for n, gradient in gradients.items():
        if f"g[{n}]" in arrays:  # frozen ones have none
            errors[f"g[{n}]"] = error(arrays[f"g[{n}]"], np.asarray(gradient))
    # A gradient that is mathematically zero is noise on both sides.
    size = {n: np.sqrt(np.mean(np.square(arrays[n]))) for n in errors}
    floor = 1e-6 * max(size.values())
    bad = [n for n, e in errors.items() if e > TOLERANCE and size[n] > floor]
    worst = max(e for n, e in errors.items() if size[n] > floor)
    print(f"{name:24} {len(errors):3} tensors, largest error {worst:.1e}")
    for n in bad:
        print(f"  {n}: {errors[n]:.1e} is beyond {TOLERANCE:.0e}")
    return len(bad)


def main(tpsp_run, examples, saved=None):
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    tpsp_opt = Path(tpsp_run).with_name("tpsp-opt")
    if saved:
        arrays = safetensors.load(Path(saved))
        name = Path(examples).name
        return 1 if compare(name, Program(tpsp_opt, examples), arrays) else 0
    bad = 0
    for example in sorted(Path(examples).glob("*.mlir")):
        extents = SMALLER.get(example.name)
        program = Program(
            tpsp_opt, example,
            *([f"--tpsp-set-extents=extent={extents}"] if extents else []))
        if program.has_dropout or example.name in LARGE:
            continue
        assert not program.missing, f"{example}: translate.py lacks {program.missing}"
        with tempfile.TemporaryDirectory() as folder:
            bad += compare(example.name, program, run(tpsp_run, example, folder, extents))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
