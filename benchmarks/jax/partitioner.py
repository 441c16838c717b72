"""Counts the collectives that JAX's partitioner inserts for three of the
examples, with the same shardings, and those of tpsp.

    pip install jax
    python3 benchmarks/jax/partitioner.py build/bin/tpsp-run examples

On 8 virtual CPU devices, mesh tp=8. Bytes are what one rank sends by the ring
algorithm, in f32, forward and backward. JAX keeps what it has gathered for the
backward pass, so tpsp is shown with --keep-gathered too. JAX's counts are read off the compiled
HLO text, tpsp's off --report; nothing is timed.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

RANKS = 8
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={RANKS}"
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "test" / "jax"))

try:
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
except ImportError:
    sys.exit("JAX is not installed (pip install jax)")

from models import EXAMPLES

# HLO's names, and the ring factor of the larger of operand and result.
KINDS = {
    "all-reduce": ("all_reduce", 2),
    "all-gather": ("all_gather", 1),
    "reduce-scatter": ("reduce_scatter", 1),
    "all-to-all": ("all_to_all", 1),
    "collective-permute": ("permute", 1),
}
WIDTH = {"f32": 4, "s32": 4, "u32": 4, "bf16": 2, "pred": 1}
SHAPE = re.compile(r"(\w+)\[([\d,]*)\]")
CALL = re.compile(r"= (.*?) (" + "|".join(KINDS) + r")(?:-start)?\((.*)\)")


def bytes_of(text):
    total = 0
    for kind, extents in SHAPE.findall(text):
        size = WIDTH.get(kind, 4)
        for extent in filter(None, extents.split(",")):
            size *= int(extent)
        total += size
    return total


def count_hlo(hlo):
    count, volume = Counter(), Counter()
    for line in hlo.splitlines():
        match = CALL.search(line)
        if not match:
            continue
        kind, factor = KINDS[match.group(2)]
        larger = bytes_of(match.group(1))
        if kind == "reduce_scatter":
            larger *= RANKS
        count[kind] += 1
        volume[kind] += factor * larger * (RANKS - 1) // RANKS
    return count, volume


def report_of(tpsp_run, example, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        subprocess.run(
            [tpsp_run, example, "--mesh", f"tp={RANKS}", "--grad", "--quiet"]
            + ["--report", path, *options],
            check=True,
        )
        return json.loads(path.read_text())


def count_report(report):
    count, volume = Counter(), Counter()
    for row in report["collectives"]:
        count[row["kind"]] += 1
        volume[row["kind"]] += row["bytes"]
    return count, volume


def spec(subscripts):
    """"b, s@tp, d" as a PartitionSpec."""
    parts = [p.strip() for p in subscripts.split(",")] if subscripts else []
    return PartitionSpec(*("tp" if "@tp" in p else None for p in parts))


def partition(model, result, tensors):
    mesh = Mesh(jax.devices(), ("tp",))
    place = lambda t: NamedSharding(mesh, spec(t["subscripts"]))
    arguments = {
        t["name"]: jax.ShapeDtypeStruct(
            t["shape"], jnp.int32 if t["dtype"] == "i32" else jnp.float32,
            sharding=place(t))
        for t in tensors
        if t["kind"] in ("input", "parameter") and t["name"] != f"g[{result}]"
    }
    floats = {n: a for n, a in arguments.items() if a.dtype == jnp.float32}
    integers = {n: a for n, a in arguments.items() if n not in floats}
    out = next(t for t in tensors if t["kind"] == "output")
    cotangent = jax.ShapeDtypeStruct(
        out["shape"], jnp.float32, sharding=place(out))

    def step(p, ids, g):
        value, pull_back = jax.vjp(lambda q: model({**q, **ids}), p)
        return value, pull_back(g)[0]

    results = (place(out), {n: a.sharding for n, a in floats.items()})
    compiled = jax.jit(step, out_shardings=results)
    return compiled.lower(floats, integers, cotangent).compile().as_text()


def show(who, count, volume):
    kinds = ", ".join(f"{n} {k}" for k, n in sorted(count.items()))
    print(f"  {who:18} {sum(count.values()):3} collectives "
          f"{sum(volume.values()) / 1024:10.1f} KiB   {kinds}")


def main(tpsp_run, examples):
    jax.config.update("jax_platforms", "cpu")
    for name, model, result in EXAMPLES:
        example = Path(examples) / name
        report = report_of(tpsp_run, example)
        kept = report_of(tpsp_run, example, "--keep-gathered")
        print(f"{name} on tp={RANKS}")
        show("tpsp", *count_report(report))
        show("tpsp, gathers kept", *count_report(kept))
        show("JAX", *count_hlo(partition(model, result, report["tensors"])))


if __name__ == "__main__":
    main(*sys.argv[1:])
