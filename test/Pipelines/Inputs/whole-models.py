"""Checks the overlap of whole, simulated models: the communication that it
hides and the memory that it takes.

    whole-models.py TPSP_RUN EXAMPLES HARDWARE FOLDER WIDTH...

Claims about one layer must hold for many. A model is the layer of an example,
called once for each layer, with other widths and subscripts.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
from stacked import stacked  # noqa: E402

tpsp_run, examples, hardware, folder = sys.argv[1], *map(Path, sys.argv[2:5])
folder.mkdir(exist_ok=True)
widths = sys.argv[5:]  # 8b, 13b, 6k, 70b


def replaced(pattern, new, text):
    text, found = re.subn(pattern, new, text)
    assert found, pattern
    return text


def model(example, layers, mesh, extents):
    """Returns the example's layer repeated, on another mesh, with other
    extents."""
    text = replaced(r"(?m)^mesh @mesh <.*>", f"mesh @mesh <{mesh}>", (examples / example).read_text())
    for index, extent in extents.items():
        text = replaced(rf"\b{index} = \d+", f"{index} = {extent}", text)
    return stacked(text, layers)


def llama(width, strategy, layers):
    """Returns d, groups of heads, heads of a group, and the hidden size."""
    d, h, r, e = {"8b": (4096, 8, 4, 14336), "13b": (5120, 40, 1, 13824),
                  "6k": (6144, 48, 1, 24576), "70b": (8192, 8, 8, 28672)}[width]
    mesh = {"tp-sp": "tp = 8 : model", "fsdp": "fsdp = 8 : data",
            "tp-sp-fsdp": "fsdp = 4 : data, tp = 8 : model"}[strategy]
    batch = {"tp-sp": 1, "fsdp": 8, "tp-sp-fsdp": 4}[strategy]
    text = model("llama3-70b-block.mlir", layers, mesh, dict(b=batch, d=d, h=h, r=r, e=e))
    if "fsdp" in strategy:
        text = divided(text)
    return text if "tp" in strategy else text.replace("@tp", "")


def divided(text):
    """Divides the batch of activations and d of matrices over fsdp."""
    text = text.replace("[b, s@tp, d]", "[b@fsdp, s@tp, d]")
    text = text.replace("[d, h", "[d@fsdp, h").replace("[d, e", "[d@fsdp, e")
    return replaced(r"(\[[he]@tp[^]]*, d)\]", r"\1@fsdp]", text)


def gpt(example, layers, mesh, batch, d, heads, data=""):
    text = model(example, layers, mesh,
                 dict(b=batch, s=8192, d=d, h=heads, k=128, e=4 * d))
    text = text.replace("[b, s, d]", f"[b{data}, s, d]")
    return text.replace("tpsp.program <", "tpsp.program bf16 <")


def simulate(name, text, machine, *options):
    path, report = folder / f"{name}.mlir", folder / f"{name}.json"
    path.write_text(text)
    # Status 3 says that the step does not fit, which these models need not on so
    # few devices.
    status = subprocess.run([tpsp_run, path, "--grad", "--simulate", "--hardware", machine,
                             "--quiet", "--report", report, *options]).returncode
    assert status in (0, 3), status
    found = json.loads(report.read_text())
    total = sum(c["seconds"] for c in found["collectives"])
    exposed = sum(c["exposed_seconds"] for c in found["collectives"])
    return found["memory"], 1 - exposed / total, found["time"]["step"]


def check(name, holds, *figures):
    print(name, *(f"{f:.3f}" for f in figures), flush=True)
    assert holds, name


def memory_and_share(name, text, machine, *options):
    before, *_ = simulate(name, text, machine, *options)
    after, hidden, _ = simulate(name, text, machine, "--overlap", "on", *options)
    ratio = after["peak"] / before["peak"]
    check(name, ratio <= 1.05, ratio, hidden)
    return hidden


four_nodes = folder / "four-nodes.json"
description = json.loads((hardware / "h100-sxm-2node.json").read_text())
description["nodes"] = 4
four_nodes.write_text(json.dumps(description))

# Many layers hide as large a share as two.
for strategy, machine in [("tp-sp", "h100-sxm"), ("fsdp", "h100-sxm"),
                          ("tp-sp-fsdp", four_nodes)]:
    for width in widths:
        name = f"{strategy}-{width}"
        few = memory_and_share(f"{name}-2", llama(width, strategy, 2), machine)
        many = memory_and_share(f"{name}-32", llama(width, strategy, 32), machine)
        check(name, many >= few - 0.02, few, many)

hidden = memory_and_share("70b", llama("70b", "tp-sp", 80), "h100-sxm")
check("70b hides", hidden >= 0.9, hidden)

# Micro-batches do not interleave, and rematerialised values are not kept.
hidden = memory_and_share("gpt", gpt("gpt-block-tp.mlir", 32, "dp = 2 : data, tp = 4 : model",
                            4, 4096, 32, "@dp"), "h100-sxm", "--micro-batches", "2")
check("gpt hides", hidden >= 0.65, hidden)
# One micro-batch stands for all but the last, and sums of gradients live through
# both. Their schedules together keep to the memory.
text = model("llama3-70b-block.mlir", 16, "dp = 8 : data, tp = 8 : model",
             dict(b=64, d=8192, h=8, r=8, e=28672))
hidden = memory_and_share("sums", text.replace("[b, s@tp, d]", "[b@dp, s@tp, d]"),
                          "h100-sxm-cluster", "--micro-batches", "8", "--optimizer", "adamw",
                          "--optimizer-axes", "dp")
check("sums hide", hidden >= 0.8, hidden)
few, many = (
    memory_and_share(
        f"selective-{layers}",
        gpt("gpt-block-sp.mlir", layers, "tp = 8 : model", 1, 6144, 48),
        "h100-sxm", "--rematerialize", "selective", "--attention", "rows")
    for layers in [2, 48])
check("selective", many >= few - 0.02 and many >= 0.86, few, many)

# An all-reduce is split if its halves are hidden and the step becomes faster.
for width in [4096, 8192]:
    text = gpt("gpt-block-tp.mlir", 8, "tp = 8 : model", 1, width, width // 128)
    whole, halves = (
        simulate(f"split-{goal}-{width}", text, "h100-sxm", "--overlap", "on",
                 "--shard-replicated", goal)[2] for goal in ["off", "time"])
    check(f"split-{width}", halves < 0.97 * whole, whole * 1e3, halves * 1e3)
