"""Compiles and runs the output of `tpsp-opt --tpsp-to-stablehlo` with XLA.

    python3 test/jax/stablehlo.py build/bin/tpsp-run examples
    python3 test/jax/stablehlo.py build/bin/tpsp-run examples/gqa.mlir --thorough

Each example runs on its own mesh of fake CPU devices. Arguments and expected
results are those that tpsp-run has read and made. Every device's part of every
argument and result must have the shape of its placement. With --thorough each
also runs on one device, and on both with all gradients, and with the placements
that collectives have. The exit status is 77, which ctest reads as skipped, if
JAX is not installed.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
)
os.environ["JAX_PLATFORMS"] = "cpu"

try:
    import jax
    from jax._src import compiler, xla_bridge
    from jax._src.interpreters import mlir
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
    from jaxlib import _jax
    from jaxlib.mlir import ir
except ImportError as missing:
    print(f"skipped: {missing}; it needs what jax 0.10 has (pip install jax)")
    sys.exit(77)

import numpy as np

import safetensors

TOLERANCE = 1e-5
GRADIENTS = "grad=true"
PLACED = "grad=true collectives=true"
# Examples with many kinds of operation: forward on one device, most options on
# the mesh.
VARIED = {"moe-ep.mlir", "operations.mlir"}
# These have nothing that smaller ones lack and take seconds of arithmetic, so
# they are only compiled for their mesh.
LARGE = {"llama3-70b-block.mlir", "llama3-8b-block.mlir", "gpt2-small.mlir"}

# YNNPACK in jaxlib 0.10.2 crashes in transposes of two Llama layers.
OVERRIDES = {"xla_cpu_experimental_ynn_fusion_type": ""}


class Exported:
    """The text that tpsp-opt writes, with the names and placements of its
    arguments."""

    def __init__(self, tpsp_opt, example, options):
        command = [tpsp_opt, example, "--tpsp-to-stablehlo=" + options]
        self.text = subprocess.run(
            command, check=True, capture_output=True, text=True
        ).stdout
        with mlir.make_ir_context():
            module = ir.Module.parse(self.text)
            module.operation.verify()
            main = next(o for o in module.body.operations if o.operation.name == "func.func")
            self.arguments = [self.entry(e, "jax.arg_info") for e in main.attributes["arg_attrs"]]
            self.results = [
                self.entry(e, "jax.result_info")
                for e in main.attributes["res_attrs"]
            ]
        axes = re.search(r"#sdy.mesh<\[(.*?)\]>", self.text)
        pairs = re.findall(r'"(\w+)"=(\d+)', axes[1] if axes else '"one"=1')
        self.mesh = {axis: int(size) for axis, size in pairs}

    @staticmethod
    def entry(attributes, key):
        """Returns its name and the axes of each dimension."""
        attributes = ir.DictAttr(attributes)
        name = ir.StringAttr(attributes[key]).value
        if "sdy.sharding" not in attributes:  # without a mesh
            return name, []
        dims = re.search(r"\[(.*)\]", str(attributes["sdy.sharding"]))[1]
        axes = [tuple(re.findall(r'"(\w+)"', d)) for d in re.findall(r"{(.*?)}", dims)]
        return name, axes

    def run(self, arrays, mesh):
        """Returns the results on a mesh, each with the shape of a device's
        part."""
        client = xla_bridge.get_backend("cpu")
        count = int(np.prod(list(mesh.values())))
        options = compiler.get_compile_options(
            num_replicas=1, num_partitions=count, env_options_overrides=OVERRIDES
        )
        build = options.executable_build_options
        build.use_spmd_partitioning = build.use_shardy_partitioner = count > 1
        devices = client.local_devices()[:count]
        program = client.compile_and_load(
            self.text, _jax.DeviceList(tuple(devices)), options
        )
        if arrays is None:
            return None
        grid = Mesh(np.array(devices).reshape(list(mesh.values())), list(mesh))
        place = lambda axes: NamedSharding(
            grid, PartitionSpec(*[tuple(a for a in d if a in mesh) for d in axes])
        )
        made = program.execute_sharded(
            [jax.device_put(arrays[n], place(axes)) for n, axes in self.arguments]
        ).disassemble_into_single_device_arrays()
        results = {}
        for (name, axes), parts in zip(self.results, made):
            shape = arrays[name].shape
            assert parts[0].shape == place(axes).shard_shape(shape), name
            results[name] = np.asarray(
                jax.make_array_from_single_device_arrays(shape, place(axes), parts)
            )
        return results


def error(got, want):
    return np.linalg.norm(got - want) / max(np.linalg.norm(want), 1e-30)


def compare(name, exported, arrays, mesh):
    """Returns the number of tensors that differ."""
    results = exported.run(arrays, mesh)
    devices = int(np.prod(list(mesh.values())))
    if results is None:
        print(f"{name:24} compiled for {devices} devices")
        return 0
    errors = {n: error(r, arrays[n]) for n, r in results.items()}
    # A gradient that is mathematically zero is noise on both sides.
    size = {n: np.sqrt(np.mean(np.square(arrays[n]))) for n in errors}
    floor = 1e-6 * max(size.values())
    seen = {n: e for n, e in errors.items() if size[n] > floor}
    print(
        f"{name:24} {len(errors):3} tensors on {devices} devices,"
        f" largest error {max(seen.values()):.1e}"
    )
    bad = [n for n, e in seen.items() if not e <= TOLERANCE]
    for n in bad:
        print(f"  {n}: {errors[n]:.1e} is beyond {TOLERANCE:.0e}")
    return len(bad)


def cases(name, thorough):
    """Returns pairs of options of --tpsp-to-stablehlo and whether to run on one
    device."""
    if name in LARGE:
        return [("", False)]
    if thorough:
        return [(o, one) for o in ("", GRADIENTS, PLACED) for one in (True, False)]
    return [("", True), (PLACED, False)] if name in VARIED else [("", False)]


def check(tpsp_run, example, thorough):
    chosen = cases(example.name, thorough)
    arrays = None
    if example.name not in LARGE:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "all.safetensors"
            command = [tpsp_run, example, "--quiet", "--save-all", path]
            has_gradients = any(options for options, _ in chosen)
            subprocess.run(command + ["--grad"] * has_gradients, check=True)
            arrays = safetensors.load(path)
    bad = 0
    for options, one in chosen:
        exported = Exported(Path(tpsp_run).with_name("tpsp-opt"), example, options)
        mesh = {"one": 1} if one else exported.mesh
        bad += compare(example.name, exported, arrays, mesh)
    return bad


def main(tpsp_run, *arguments):
    thorough = "--thorough" in arguments
    paths = [Path(a) for a in arguments if not a.startswith("--")]
    found = [f for p in paths for f in (sorted(p.glob("*.mlir")) if p.is_dir() else [p])]
    with ThreadPoolExecutor(2) as pool:
        bad = pool.map(lambda example: check(tpsp_run, example, thorough), found)
        return 1 if sum(bad) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
