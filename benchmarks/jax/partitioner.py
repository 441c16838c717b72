"""Compares the collectives of JAX's partitioner for a program with tpsp's.

    pip install jax
    python3 benchmarks/jax/partitioner.py build/bin/tpsp-opt examples/*.mlir
    python3 benchmarks/jax/partitioner.py build/bin/tpsp-opt M.mlir --mesh tp=8

Both get the same subscripts: those of arguments and results, and of the values
that the program places. JAX runs on virtual CPU devices; nothing is timed.
Counts and bytes are those of one rank in a forward and a backward pass in f32,
by the ring algorithm. JAX's come from its compiled HLO, tpsp's from the ledger.
If only blocks of an all-reduce are used, XLA turns it into a reduce-scatter,
but on GPUs only; here it counts as one. JAX keeps gathered tensors for the
backward pass, so tpsp is shown with --keep-gathered, too. The exit status is 1
if JAX sends less for a program than tpsp in both ways.
"""

import argparse
import math
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

RANKS = 64  # in the largest mesh
os.environ["XLA_FLAGS"] = (
    f"--xla_force_host_platform_device_count={RANKS} "
    "--xla_disable_hlo_passes=fusion,cpu-fusion,all-reduce-combiner,all-gather-combiner"
)
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "test" / "jax"))

try:
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
except ImportError:
    sys.exit("JAX is not installed (pip install jax)")

from translate import Program

# HLO's names, tpsp's, and the bytes of a ring of n ranks per byte of the result.
KINDS = {
    "all-reduce": ("all_reduce", lambda n: 2 * (n - 1) / n),
    "all-gather": ("all_gather", lambda n: (n - 1) / n),
    "reduce-scatter": ("reduce_scatter", lambda n: n - 1),
    "all-to-all": ("all_to_all", lambda n: (n - 1) / n),
    "collective-permute": ("permute", lambda n: 1),
}
WIDTH = {"f32": 4, "s32": 4, "u32": 4, "bf16": 2, "pred": 1}
SHAPE = re.compile(r"(\w+)\[([\d,]*)\]")
VALUE = re.compile(r"^\s*(?:ROOT )?%?([\w.-]+) = (.*?) ([\w-]+)\((.*?)\)(.*)$")
# Operations that leave elements where they are.
VIEWS = {"reshape", "bitcast", "copy", "transpose", "convert", "get-tuple-element"}


def bytes_of(text):
    total = 0
    for kind, extents in SHAPE.findall(text):
        total += WIDTH.get(kind, 4) * math.prod(
            int(e) for e in filter(None, extents.split(","))
        )
    return total


def ranks_of(attributes):
    """Returns the ranks of one group, from {{0,1},{2,3}}, [2,2]<=[4], or
    mesh['a'=2,'b'=2] {'b'}."""
    if named := re.search(r"replica_groups=\w+\[(.*?)\][^{]*\{(.*?)\}", attributes):
        sizes = dict(re.findall(r"('\w+')=(\d+)", named[1]))
        parts = re.findall(r"('\w+')(?::\(\d+\)(\d+))?", named[2])
        return math.prod(int(part or sizes[axis]) for axis, part in parts)
    if iota := re.search(r"replica_groups=\[(\d+),(\d+)\]", attributes):
        return int(iota[2])
    if listed := re.search(r"replica_groups=\{\{([\d,]*)\}", attributes):
        return len(listed[1].split(","))
    assert "source_target_pairs" in attributes, attributes
    return 2


class Hlo:
    def __init__(self, text):
        self.values, self.users = [], {}
        for line in text.splitlines():
            if match := VALUE.match(line):
                self.add(*match.groups())

    def add(self, name, shape, kind, operands, attributes):
        kind = kind.removesuffix("-start")
        if kind == "fusion" and name.startswith("wrapped_"):
            kind = name.removeprefix("wrapped_").partition(".")[0]
        self.values.append((name, shape, kind, attributes))
        for operand in re.findall(r"%([\w.-]+)", operands):
            self.users.setdefault(operand, []).append((name, kind, attributes))

    def blocks_alone(self, name, index=None):
        """Whether each rank uses only its own block of a value, or of an element
        of a tuple."""
        found = [u for u in self.users.get(name, [])
                 if index is None or f" index={index}," in u[2] + ","]
        return bool(found) and all(
            kind == "dynamic-slice" or (kind in VIEWS and self.blocks_alone(user))
            for user, kind, _ in found
        )

    def count(self):
        count, volume = Counter(), Counter()
        for name, shape, kind, attributes in self.values:
            if kind not in KINDS or ranks_of(attributes) == 1:
                continue
            mine, factor = KINDS[kind]
            parts = [m[0] for m in SHAPE.finditer(shape)]
            if kind == "all-to-all":
                parts = [shape]
            for index, part in enumerate(parts):
                here, size = mine, bytes_of(part) * factor(ranks_of(attributes))
                of_tuple = index if len(parts) > 1 else None
                if kind == "all-reduce" and self.blocks_alone(name, of_tuple):
                    here, size = "reduce_scatter", size / 2
                count[here] += 1
                volume[here] += size
        return count, volume


ROW = re.compile(r"remark: \[Analysis\] (\w+) .*\bbytes=(\d+)")


def count_ledger(tpsp_opt, path, mesh, *options):
    explain = "--tpsp-explain=" + " ".join(["grad", "every-layer", *options])
    text = subprocess.run(
        [tpsp_opt, path, *mesh, explain, "--remarks-filter=tpsp-print.*"],
        check=True, capture_output=True, text=True,
    ).stderr
    count, volume = Counter(), Counter()
    for kind, size in ROW.findall(text):
        if kind != "slice":
            count[kind] += 1
            volume[kind] += int(size)
    return count, volume


def partition(program):
    axes = [axis for axis, size in program.mesh.items()]
    sizes = list(program.mesh.values())
    mesh = Mesh(jax.make_mesh(sizes, axes).devices, axes)
    spec = lambda t: NamedSharding(
        mesh, PartitionSpec(*(a if a else None for a in t.axes)))
    place = lambda x, t: jax.lax.with_sharding_constraint(x, spec(t))
    given = {
        name: jax.ShapeDtypeStruct(
            t.shape, jnp.int32 if t.element == "i32" else jnp.float32, sharding=spec(t))
        for name, t in program.arguments
    }
    floats = {n: a for n, a in given.items() if a.dtype == jnp.float32}
    integers = {n: a for n, a in given.items() if n not in floats}
    (result,) = program.results
    cotangent = jax.ShapeDtypeStruct(result.shape, jnp.float32, sharding=spec(result))

    def step(p, ids, g):
        value, pull_back = jax.vjp(lambda q: program({**q, **ids}, place), p)
        return value, pull_back(g)[0]

    wanted = (spec(result), {n: a.sharding for n, a in floats.items()})
    compiled = jax.jit(step, out_shardings=wanted)
    return compiled.lower(floats, integers, cotangent).compile().as_text()


def show(who, count, volume):
    kinds = ", ".join(f"{n} {k}" for k, n in sorted(count.items()))
    print(f"  {who:18} {sum(count.values()):3} collectives "
          f"{sum(volume.values()) / 1024:10.1f} KiB   {kinds}", flush=True)
    return sum(volume.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tpsp_opt")
    parser.add_argument("programs", nargs="+", metavar="M.mlir")
    parser.add_argument("--mesh", help="other sizes of axes: tp=8,dp=1")
    options = parser.parse_args()
    jax.config.update("jax_platforms", "cpu")
    mesh = [f"--tpsp-set-mesh=mesh={options.mesh}"] if options.mesh else []
    fewer = []
    for path in options.programs:
        program = Program(options.tpsp_opt, path, *mesh)
        sizes = ", ".join(f"{axis}={size}" for axis, size in program.mesh.items())
        print(f"{Path(path).name} on {sizes}")
        if program.missing or len(program.results) != 1:
            print("  not translated:", *program.missing or ["several results"])
            continue
        ours = [show("tpsp", *count_ledger(options.tpsp_opt, path, mesh)),
                show("tpsp, gathers kept",
                     *count_ledger(options.tpsp_opt, path, mesh, "keep-gathered"))]
        theirs = show("JAX", *Hlo(partition(program)).count())
        if theirs < min(ours):
            fewer.append(Path(path).name)
    print("JAX sends less for:", *fewer or ["none"])
    return 1 if fewer else 0


if __name__ == "__main__":
    sys.exit(main())
