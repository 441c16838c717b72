"""Overlap of whole models, simulated: what it hides and what memory it takes.

    whole-models.py TPSP_RUN EXAMPLES HARDWARE FOLDER WIDTH...

Whatever is claimed of one layer is claimed of many here. A model is the layer
of an example, called once for each layer, at other widths and subscripts.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

tpsp_run, examples, hardware, folder = sys.argv[1], *map(Path, sys.argv[2:5])
folder.mkdir(exist_ok=True)
widths = sys.argv[5:]  # 8b, 13b, 6k, 70b


def stacked(text, layers):
    """The program whose function calls the only one of `text` so many times."""
    head = re.search(r"func\.func @(\w+)\((.*?)\) -> (\S+) \{", text, re.S)
    arguments = re.findall(r"(%\w+): (!\w+)(?: \{[^}]*\})?", head[2])
    (x, kind), *weights = arguments
    plain = ", ".join(": ".join(a) for a in arguments)
    layer = text.replace(head[0], f"func.func private @layer({plain}) -> {head[3]} {{")
    kinds = ", ".join(t for _, t in arguments)
    signature = [f'%x: {kind} {{tpsp.name = "x"}}'] + [
        f'%l{i}{w[1:]}: {t} {{tpsp.param = "l{i}.{w[1:]}"}}'
        for i in range(layers) for w, t in weights]
    body, last = "", "%x"
    for i in range(layers):
        operands = ", ".join([last] + [f"%l{i}{w[1:]}" for w, _ in weights])
        body += f"  %x{i} = func.call @layer({operands}) : ({kinds}) -> {head[3]}\n"
        last = f"%x{i}"
    return layer + f"func.func @model({', '.join(signature)}) -> {head[3]} {{\n{body}  return {last} : {head[3]}\n}}\n"


def model(example, layers, replaced):
    text = (examples / example).read_text()
    for old, new in replaced:
        assert old in text, (example, old)
        text = text.replace(old, new)
    return stacked(text, layers)


def llama(width, strategy, layers):
    """d, groups of heads, heads of a group, hidden."""
    d, h, r, e = {"8b": (4096, 8, 4, 14336), "13b": (5120, 40, 1, 13824),
                  "6k": (6144, 48, 1, 24576), "70b": (8192, 8, 8, 28672)}[width]
    tp = "@tp" if "tp" in strategy else ""
    data = "@fsdp" if "fsdp" in strategy else ""
    mesh = {"tp-sp": "tp = 8 : model", "fsdp": "fsdp = 8 : data",
            "tp-sp-fsdp": "fsdp = 4 : data, tp = 8 : model"}[strategy]
    batch = {"tp-sp": 1, "fsdp": 8, "tp-sp-fsdp": 4}[strategy]
    return model("llama3-70b-block.mlir", layers, [
        ("tp = 8 : model", mesh),
        ("1x8192x8192xbf16, #tpsp.idx<b, s@tp, d>", f"1x8192x{d}xbf16, #tpsp.idx<b{data}, s{tp}, d>"),
        ("1x8192x8192xbf16, #tpsp.idx<b, s, d", f"1x8192x{d}xbf16, #tpsp.idx<b, s, d"),
        ("1x8192x8x8x128x", f"1x8192x{h}x{r}x128x"), ("1x8192x8x128x", f"1x8192x{h}x128x"),
        ("1x8192x28672x", f"1x8192x{e}x"), ("<1x8192x", f"<{batch}x8192x"),
        ("tensor<8192xbf16", f"tensor<{d}xbf16"),
        ("8x8x128x8192xbf16, #tpsp.idx<h@tp, r, k, d>", f"{h}x{r}x128x{d}xbf16, #tpsp.idx<h{tp}, r, k, d{data}>"),
        ("8x128x8192xbf16, #tpsp.idx<h@tp, k, d>", f"{h}x128x{d}xbf16, #tpsp.idx<h{tp}, k, d{data}>"),
        ("8192x8x8x128xbf16, #tpsp.idx<d, h@tp, r, k>", f"{d}x{h}x{r}x128xbf16, #tpsp.idx<d{data}, h{tp}, r, k>"),
        ("28672x8192xbf16, #tpsp.idx<e@tp, d>", f"{e}x{d}xbf16, #tpsp.idx<e{tp}, d{data}>"),
        ("8192x28672xbf16, #tpsp.idx<d, e@tp>", f"{d}x{e}xbf16, #tpsp.idx<d{data}, e{tp}>"),
    ])


def gpt(example, layers, mesh, batch, d, heads, data=""):
    placed = [("#tpsp.idx<b, s, d>", f"#tpsp.idx<b{data}, s, d>")] if data else []
    return model(example, layers, placed + [
        ("tp = 4 : model", mesh),
        ("2x128x256x", f"{batch}x8192x{d}x"), ("2x128x8x32x", f"{batch}x8192x{heads}x128x"),
        ("2x128x1024x", f"{batch}x8192x{4 * d}x"), ("8x32x256x", f"{heads}x128x{d}x"),
        ("tensor<8x32x", f"tensor<{heads}x128x"), ("256x8x32x", f"{d}x{heads}x128x"),
        ("tensor<1024x256x", f"tensor<{4 * d}x{d}x"), ("tensor<1024x", f"tensor<{4 * d}x"),
        ("tensor<256x1024x", f"tensor<{d}x{4 * d}x"), ("tensor<256x", f"tensor<{d}x"),
        ("f32", "bf16"),
    ])


def simulate(name, text, machine, *options):
    path, report = folder / f"{name}.mlir", folder / f"{name}.json"
    path.write_text(text)
    subprocess.run([tpsp_run, path, "--grad", "--simulate", "--hardware", machine,
                    "--quiet", "--report", report, *options], check=True)
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

# As much is hidden of many layers as of two.
for strategy, machine in [("tp-sp", "h100-sxm"), ("fsdp", "h100-sxm"),
                          ("tp-sp-fsdp", four_nodes)]:
    for width in widths:
        name = f"{strategy}-{width}"
        few = memory_and_share(f"{name}-2", llama(width, strategy, 2), machine)
        many = memory_and_share(f"{name}-32", llama(width, strategy, 32), machine)
        check(name, many >= few - 0.02, few, many)

hidden = memory_and_share("70b", llama("70b", "tp-sp", 80), "h100-sxm")
check("70b hides", hidden >= 0.9, hidden)

# Micro-batches do not interleave, and what is rematerialised is not kept.
hidden = memory_and_share("gpt", gpt("gpt-block-tp.mlir", 32, "dp = 2 : data, tp = 4 : model",
                            4, 4096, 32, "@dp"), "h100-sxm", "--micro-batches", "2")
check("gpt hides", hidden >= 0.65, hidden)
few, many = (
    memory_and_share(
        f"selective-{layers}",
        gpt("gpt-block-sp.mlir", layers, "tp = 8 : model", 1, 6144, 48),
        "h100-sxm", "--rematerialize", "selective", "--attention", "rows")
    for layers in [2, 48])
check("selective", many >= few - 0.02 and many >= 0.86, few, many)

# An all-reduce is split where its halves are hidden, and the step is faster.
for width in [4096, 8192]:
    text = gpt("gpt-block-tp.mlir", 8, "tp = 8 : model", 1, width, width // 128)
    whole, halves = (
        simulate(f"split-{goal}-{width}", text, "h100-sxm", "--overlap", "on",
                 "--shard-replicated", goal)[2] for goal in ["off", "time"])
    check(f"split-{width}", halves < 0.97 * whole, whole * 1e3, halves * 1e3)
