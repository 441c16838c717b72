"""Checks that options with the value "time" make no step slower, by the
simulator.

    timed-options.py TPSP_RUN EXAMPLES FOLDER

Whole steps decide, on several machines and meshes, with overlap and without.
The passes' proposals alone would make most of these steps slower.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
from stacked import stacked  # noqa: E402

tpsp_run, examples, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
folder.mkdir(exist_ok=True)


def model(example, layers, mesh, **extents):
    text = (examples / example).read_text()
    text = re.sub(r"(?m)^mesh @mesh <.*>", f"mesh @mesh <{mesh}>", text)
    for index, extent in extents.items():
        text, found = re.subn(rf"\b{index} = \d+", f"{index} = {extent}", text)
        assert found, index
    return stacked(text, layers)


def gpt(mesh, s, batch=1, data=""):
    text = model("gpt-block-tp.mlir", 2, mesh, b=batch, s=s, d=4096, h=32, k=128, e=16384)
    return text.replace("[b, s, d]", f"[b{data}, s, d]").replace("tpsp.program <", "tpsp.program bf16 <")


def llama(mesh, s):
    text = model("llama3-70b-block.mlir", 2, mesh, b=1, s=s, d=4096, h=8, r=4, e=14336)
    return text.replace("s@tp, d]", "s, d]")


def fsdp(s):
    text = model("llama3-70b-block.mlir", 2, "fsdp = 8 : data", b=8, s=s, d=4096, h=8, r=4, e=14336)
    text = text.replace("[b, s@tp, d]", "[b@fsdp, s, d]").replace("[d, ", "[d@fsdp, ")
    return re.sub(r"(\[[he]@tp[^]]*, d)\]", r"\1@fsdp]", text).replace("@tp", "")


def seconds(text, machine, *options):
    path, report = folder / "model.mlir", folder / "report.json"
    path.write_text(text)
    subprocess.run([tpsp_run, path, "--grad", "--simulate", "--hardware", machine, "--quiet",
                    "--report", report, *options], check=True)
    found = json.loads(report.read_text())
    return found["time"]["step"] if "time" in found else found["step"]


def compare(name, text, machine, option, *options):
    off, time = (seconds(text, machine, option, goal, *options) for goal in ["off", "time"])
    print(name, f"{off * 1e3:.3f} ms, time {time * 1e3:.3f} ms", flush=True)
    assert time <= off * (1 + 1e-9), name
    return time < off


eight, mixed = "tp = 8 : model", "dp = 2 : data, tp = 4 : model"
shard, layers, on = "--shard-replicated", "--bucket-layers", ("--overlap", "on")
compare("gpt, overlap", gpt(eight, 2048), "h100-sxm", shard, *on)
compare("llama, overlap", llama(eight, 4096), "h100-sxm", shard, *on)
compare("gpt with data", gpt(mixed, 2048, 2, "@dp"), "h100-sxm", shard)
compare("llama on A100", llama(eight, 2048), "a100-sxm", shard)
assert compare("gpt, long", gpt(eight, 16384), "h100-sxm", shard, *on), "nothing is gained"
compare("layers, overlap", fsdp(2048), "h100-sxm", layers, *on)
assert compare("layers", fsdp(512), "h100-sxm", layers), "nothing is gained"
stages = gpt("pp = 2 : stage, tp = 8 : model", 2048, 4)
compare("stages, overlap", stages, "h100-sxm-cluster", shard, "--micro-batches", "4", *on)
