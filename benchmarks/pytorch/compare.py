"""A step of a Llama-3.1-8B layer, forward and backward, against PyTorch's on
the same machine: eager with fused attention, and torch.compile.

    python3 benchmarks/pytorch/compare.py FOLDER          (with a GPU)

FOLDER was made by test/gpu/prepare: it has tpsp-run without the compiler, and in
layers/ a plan for each batch size. All run in turns, and every step ends with
waiting for the device. Prints medians over all rounds. A round begins with steps
that do not count, because a GPU at its power limit lowers its clock after some
steps. Then prints, for tpsp alone:

  matmuls         the speed of its products compared with the same products
                  alone, one after another, by PyTorch's calls of cuBLASLt
  between         the part of a step in which no command runs on the GPU, from
                  the commands' times by events. Events make these times a
                  little longer, so the true part is a little larger than shown
  around          the part of a step, replayed as a graph, before the GPU begins
                  and after it ends

--device cpu runs the same on the CPU backend, to test this script.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

import torch

from llama_layer import layer, rotations, shapes, step

WARM_UP = 40
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
MATMUL = re.compile(r"matmul m=(\d+) n=(\d+) k=(\d+)( transposeA)?( transposeB)?"
                    r"(?: batch=([\dx]+))?(?: accumulate=([\dx]+))? (\w+)")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60, help="of a round")
    parser.add_argument("--mode", default="default", help="of torch.compile")
    return parser.parse_args()


class Tpsp:
    """A compiled plan; each call is a process."""

    def __init__(self, folder, plan, device):
        self.tool, self.plan, self.device = folder / "bin/tpsp-run", plan, device

    def call(self, *options, backend=None):
        command = [self.tool, self.plan, "--backend", backend or self.device]
        # Both use the CUDA libraries of PyTorch.
        libraries = Path(torch.__file__).parents[1].glob("nvidia/*/lib")
        path = [self.tool.parents[1] / "lib", *libraries]
        environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, path))}
        return subprocess.run(command + list(options), check=True, text=True,
                              stdout=subprocess.PIPE, env=environment).stdout

    def steps(self, count):
        """Returns the seconds of each step."""
        report = self.report("--steps", str(WARM_UP + count))
        return report["time"]["steps"][WARM_UP:]

    def report(self, *options):
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "report.json"
            self.call("--quiet", *options, "--report", path)
            return json.loads(path.read_text())

    def spans(self):
        """Returns (name, begin, seconds) of each command of a step, run one by
        one."""
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "trace.json"
            self.call("--quiet", "--steps", str(WARM_UP), "--trace", path)
            events = json.loads(path.read_text())["traceEvents"]
        return [(e["name"], 1e-6 * e["ts"], 1e-6 * e["dur"])
                for e in events if e["ph"] == "X"]

    def products(self):
        """Counts a step's products, by (m, n, k, transposeA, transposeB, batch,
        sums, dtype)."""
        found = Counter()
        for line in self.call(backend="trace").splitlines():
            if match := MATMUL.search(line):
                m, n, k = (int(i) for i in match.groups()[:3])
                loops = [product(match[i]) for i in (6, 7)]
                found[m, n, k, bool(match[4]), bool(match[5]), *loops, match[8]] += 1
        return found


def product(extents):
    result = 1
    for extent in filter(None, (extents or "").split("x")):
        result *= int(extent)
    return result


class Peer:
    """The layer in PyTorch."""

    def __init__(self, function, batch, sequence, dtype, device):
        torch.manual_seed(1)
        random = lambda *shape: torch.randn(shape, dtype=dtype, device=device)
        self.function, self.device = function, device
        self.x = random(batch, sequence, 4096).requires_grad_()
        self.gz = random(batch, sequence, 4096)
        self.parameters = [
            (random(*shape) * shape[-1] ** -0.5).requires_grad_()
            for shape in shapes().values()
        ]
        self.cos, self.sin = rotations(sequence, 128, self.x)

    def steps(self, count):
        return [timed(self.device, lambda: step(
            self.function, self.x, self.cos, self.sin, self.parameters, self.gz
        )) for _ in range(WARM_UP + count)][WARM_UP:]


def timed(device, work):
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    wait()
    begin = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - begin


def product_of(shape, device):
    """Returns a function that computes a product of this shape."""
    m, n, k, transpose_a, transpose_b, batch, _, dtype = shape

    def matrix(rows, columns, transposed):
        extents = (columns, rows) if transposed else (rows, columns)
        made = torch.randn(batch, *extents, dtype=TYPES[dtype], device=device)
        made = made.transpose(1, 2) if transposed else made
        return made[0] if batch == 1 else made

    a, b = matrix(m, k, transpose_a), matrix(k, n, transpose_b)
    out = torch.empty_like(torch.matmul(a, b))
    return lambda: torch.matmul(a, b, out=out)


def alone(products, device, steps):
    """Returns the seconds of all products of a step alone."""
    calls = [product_of(shape, device) for shape, count in products.items()
             for _ in range(count * shape[6])]

    def all_of_them():
        for call in calls:
            call()

    times = [timed(device, all_of_them) for _ in range(WARM_UP + steps)]
    return statistics.median(times[WARM_UP:])


def measure(runners, rounds, steps):
    """Returns the median step of each, all measured in turns."""
    times = {name: [] for name in runners}
    for _ in range(rounds):
        for name, runner in runners.items():
            times[name] += runner.steps(steps)
    return {name: statistics.median(of) for name, of in times.items()}


def print_steps(medians, flops):
    print("\n| | step | TFLOP/s | tpsp's step is |\n| --- | --- | --- | --- |")
    for name, seconds in medians.items():
        print(f"| {name} | {1e3 * seconds:.3f} ms | {1e-12 * flops / seconds:.3g} "
              f"| {medians['tpsp'] / seconds:.3f} of it |")


def print_matmuls(tpsp, spans, device, steps):
    inside = sum(seconds for name, _, seconds in spans if name.startswith("matmul"))
    products = tpsp.products()
    outside = alone(products, device, steps)
    work = sum(count * sums * 2 * m * n * k * batch
               for (m, n, k, *_, batch, sums, _), count in products.items())
    print(f"\nmatmuls: {1e3 * inside:.3f} ms in the step, {1e3 * outside:.3f} ms "
          f"alone: {outside / inside:.1%} of the rate alone "
          f"({1e-12 * work / outside:.3g} TFLOP/s)")


def print_between(spans, times):
    begin = min(at for _, at, _ in spans)
    end = max(at + seconds for _, at, seconds in spans)
    idle = end - begin - sum(seconds for _, _, seconds in spans)
    print(f"between commands on the GPU: {1e6 * idle:.1f} us "
          f"({idle / (end - begin):.1%})")
    step, gpu = times["step"], times["gpu"]
    if gpu:
        print(f"around the GPU's work: {1e6 * (step - gpu):.1f} us "
              f"({1 - gpu / step:.1%})")
    kinds = Counter()
    for name, _, seconds in spans:
        kinds[re.match("[a-z_]+", name)[0]] += seconds
    for kind, seconds in kinds.most_common():
        print(f"    {kind:20} {1e3 * seconds:8.3f} ms")


def main():
    options = parse()
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    if options.device == "cuda":
        torch.backends.cuda.preferred_blas_library("cublaslt")
    name = (torch.cuda.get_device_name() if options.device == "cuda" else "CPU")
    print(f"{name}, PyTorch {torch.__version__}, medians of {options.rounds} "
          f"rounds of {options.steps} steps, in turns")
    for plan in sorted((options.folder / "layers").glob("*.so")):
        _, dtype, batch, sequence, _ = plan.name.split(".")
        sizes = (int(batch[1:]), int(sequence[1:]), TYPES[dtype], options.device)
        print(f"\n## Batch {sizes[0]}, sequence {sizes[1]}, {dtype}")
        # Compiled for this batch only, since PyTorch would make the second
        # batch size dynamic.
        compiled = torch.compile(layer, mode=options.mode, dynamic=False)
        tpsp = Tpsp(options.folder, plan, options.device)
        medians = measure({
            "tpsp": tpsp,
            "PyTorch, eager": Peer(layer, *sizes),
            "PyTorch, torch.compile": Peer(compiled, *sizes),
        }, options.rounds, options.steps)
        report = tpsp.report("--steps", str(WARM_UP + options.steps))
        print_steps(medians, report["matmul_flops"])
        spans = tpsp.spans()
        print_matmuls(tpsp, spans, options.device, options.steps)
        print_between(spans, report["time"])


if __name__ == "__main__":
    main()
