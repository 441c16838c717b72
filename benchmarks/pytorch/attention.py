"""Attention in one call, with its options, against PyTorch's on the same GPU:
values and gradients at a small size, then times of forward and backward.

    python3 benchmarks/pytorch/attention.py FOLDER --emit   (where tpsp was built)
    python3 benchmarks/pytorch/attention.py FOLDER          (with a GPU)

FOLDER has bin/tpsp-run and lib/, as test/gpu/prepare makes it. --emit writes
plans to FOLDER/attention.

  causal      a causal mask
  window      a causal mask, and a window of an eighth of the keys
  cap         a causal mask, and a soft-cap of 30 on scores
  documents   a causal mask, and packed documents of random lengths
  lengths     no mask, and a number of keys for each sequence; of the first, none
  all         a causal mask, a window, a soft-cap and documents

PyTorch's peers are scaled_dot_product_attention for a causal mask, and
flex_attention, compiled, with block masks that leave out hidden blocks. Values
are of b 3, s 515, times of b 4, s 8192, with 32 heads of 128 and 8 of keys.

--device cpu compares values only, with tpsp's CPU backend and plain products.
"""

import argparse
import contextlib
import fcntl
import json
import math
import statistics
import subprocess
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import compare
from compare import timed

ROOT = Path(__file__).resolve().parents[2]
CAP = 30.0
# By name: attributes of tpsp's operation, and its operands beside q, k and v.
CASES = {
    "causal": ("causal", []),
    "window": ("causal, window = {window}", []),
    "cap": (f"causal, softcap = {CAP}", []),
    "documents": ("causal", ["document"]),
    "lengths": ("", ["length"]),
    "all": (f"causal, window = {{window}}, softcap = {CAP}", ["document"]),
}
SMALL = dict(b=3, s=515, g=2, r=4, k=64)
LARGE = dict(b=4, s=8192, g=8, r=4, k=128)
# Of the largest element; 16 bits of a result and of weights.
TOLERANCE = 1 / 64


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--emit", action="store_true", help="only write the plans")
    parser.add_argument("--cases", type=lambda text: text.split(","),
                        default=list(CASES))
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--lock", type=Path, help="a file that is locked while times "
                        "are measured, for a process for each case")
    parser.add_argument("--out", type=Path, default=Path("attention.json"))
    return parser.parse_args()


def program(case, sizes):
    """Returns the program of a case."""
    attributes, integers = CASES[case]
    attributes = attributes.format(window=sizes["s"] // 8)
    attributes = ", " + attributes if attributes else ""
    arguments, lines, operands = "", "", ""
    if "document" in integers:
        arguments = ", %document: i32[b, s] {tpsp.below = 64}"
        lines = "  %past = rename %document -> i32[b, t, ?]\n"
        operands = ", %document, %past"
    if "length" in integers:
        arguments = f", %length: i32[b] {{tpsp.below = {sizes['s'] + 1}}}"
        operands = ", %length"
    extents = ", ".join(f"{name} = {extent}" for name, extent in sizes.items())
    return f"""tpsp.program bf16 <{extents}, t = s> {{
func @attention(%q: [b, s, g, r, k], %k0, %v0: [b, s, g, k]{arguments})
    -> [b, s, g, r, k] {{
  %k = rename %k0 -> [b, t, g, k, ?]
  %v = rename %v0 -> [b, t, g, k, ?]
{lines}  %o = attention %q, %k, %v{operands} {{query = "s", key = "t", feature = "k",
    scale = {sizes["k"] ** -0.5}{attributes}}}
  return %o
}}
}}
"""


def emit(folder, cases):
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases:
        for name, sizes in ("small", SMALL), ("large", LARGE):
            path = folder / f"{case}-{name}.mlir"
            path.write_text(program(case, sizes))
            subprocess.run([ROOT / "build/bin/tpsp-run", path, "--grad", "--quiet",
                            "--attention", "fused", "--emit",
                            path.with_suffix(".so")], check=True)


def data(case, sizes, device):
    """Returns the arguments by tpsp's names. Documents have random lengths."""
    b, s, g, r, k = (sizes[name] for name in "bsgrk")
    random = lambda *shape: torch.randn(shape, device=device).bfloat16()
    found = dict(q=random(b, s, g, r, k), k0=random(b, s, g, k), v0=random(b, s, g, k),
                 **{"g[o]": random(b, s, g, r, k)})
    integers = CASES[case][1]
    if "document" in integers:
        starts = torch.rand(b, s, device=device) < 8 / s
        found["document"] = starts.cumsum(1).int()
    if "length" in integers:
        found["length"] = torch.randint(s + 1, (b,), device=device).int()
        found["length"][0] = 0
    return found


def peer(case, given, sizes):
    """Returns a function of q, k and v, [b, h, s, k], in PyTorch."""
    s, group = sizes["s"], sizes["r"]
    if case == "causal":
        def attend(q, k, v):
            with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION,
                              SDPBackend.MATH], set_priority=True):
                return F.scaled_dot_product_attention(
                    q, k, v, is_causal=True, enable_gqa=group > 1)
        return attend
    attributes = CASES[case][0]
    document, length = given.get("document"), given.get("length")

    def mask(b, h, query, key):
        counts = query >= key if "causal" in attributes else query >= 0
        if "window" in attributes:
            counts = counts & (query - key < s // 8)
        if document is not None:
            counts = counts & (document[b, query] == document[b, key])
        if length is not None:
            counts = counts & (key < length[b])
        return counts

    def score(value, *_):
        return CAP * torch.tanh(value / CAP)

    if given["q"].device.type == "cpu":
        return lambda q, k, v: written_out(
            q, k, v, mask, score if "cap" in attributes else None)
    shared = document is None and length is None
    blocks = create_block_mask(mask, None if shared else sizes["b"], None, s, s,
                               device=given["q"].device)
    flex = torch.compile(flex_attention, dynamic=False)
    return lambda q, k, v: flex(
        q, k, v, score_mod=score if "cap" in attributes else None,
        block_mask=blocks, enable_gqa=True)


def written_out(q, k, v, mask, score):
    """Attention with all scores, for CPUs, where flex_attention has no backward
    pass. A row without keys is 0."""
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    scores = q @ k.transpose(2, 3) * q.shape[-1] ** -0.5
    if score:
        scores = score(scores)
    batch, _, queries, keys = scores.shape
    at = torch.arange
    counts = mask(at(batch)[:, None, None, None], 0, at(queries)[:, None], at(keys))
    scores = scores.masked_fill(~counts, -math.inf)
    weights = scores.softmax(-1).masked_fill(~counts.any(-1, keepdim=True), 0)
    return weights @ v


def heads_of(given):
    """Returns q, k, v and the result's gradient as PyTorch has them."""
    q, k, v, gradient = (given[name] for name in ("q", "k0", "v0", "g[o]"))
    flat = lambda x: x.flatten(2, 3).transpose(1, 2)
    leaf = lambda x: x.detach().requires_grad_()
    return (leaf(flat(q)), leaf(k.transpose(1, 2)), leaf(v.transpose(1, 2)),
            flat(gradient))


def compared(case, options):
    """Returns the largest difference of a result or gradient from PyTorch's, as a
    part of the largest element."""
    from safetensors.torch import load_file, save_file

    given = data(case, SMALL, options.device)
    q, k, v, gradient = heads_of(given)
    if options.device == "cpu":
        q, k, v, gradient = (x.detach().float() for x in (q, k, v, gradient))
        q, k, v = (x.requires_grad_() for x in (q, k, v))
    o = peer(case, given, SMALL)(q, k, v)
    o.backward(gradient)
    wanted = {"o": o, "g[q]": q.grad, "g[k0]": k.grad, "g[v0]": v.grad}
    plan = options.folder / f"attention/{case}-small.so"
    tpsp = compare.Tpsp(options.folder, plan, options.device)
    with tempfile.TemporaryDirectory() as scratch:
        inputs, saved = (Path(scratch) / f"{name}.safetensors" for name in "io")
        save_file({name: tensor.cpu().contiguous() for name, tensor in given.items()},
                  inputs)
        tpsp.call("--quiet", "--inputs", inputs, "--save-all", saved)
        found = load_file(saved)
    worst = 0
    for name, tensor in wanted.items():
        theirs = tensor.detach().float().cpu().transpose(1, 2)
        ours = found[name].float().reshape(theirs.shape)
        difference = (ours - theirs).abs().max() / theirs.abs().max()
        if not difference < TOLERANCE:
            raise ValueError(f"{case}: {name} is {difference:.2g} from PyTorch's")
        worst = max(worst, difference.item())
    return worst


@contextlib.contextmanager
def alone(lock):
    """Waits until no other process measures."""
    if not lock:
        yield
        return
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def measured(case, options):
    """Returns the seconds of forward and backward, tpsp's and PyTorch's, and the
    bytes that tpsp's plan has for each."""
    from safetensors.torch import save_file

    given = data(case, LARGE, options.device)
    integers = {name: given[name].cpu() for name in CASES[case][1]}
    q, k, v, gradient = heads_of(given)
    attend = peer(case, given, LARGE)

    def step():
        attend(q, k, v).backward(gradient)
        q.grad = k.grad = v.grad = None

    step()  # compiles
    torch.cuda.synchronize()
    with alone(options.lock):
        theirs = [timed(options.device, step) for _ in range(10 + options.steps)][10:]
        plan = options.folder / f"attention/{case}-large.so"
        tpsp = compare.Tpsp(options.folder, plan, options.device)
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch) / "integers.safetensors"
            if integers:
                save_file(integers, file)
            given = ("--inputs", file) if integers else ()
            report = tpsp.report("--steps", str(10 + options.steps), *given)
    return dict(tpsp=statistics.median(report["time"]["steps"][10:]),
                pytorch=statistics.median(theirs), memory=report["memory"]["peak"])


def main():
    options = parse()
    if options.emit:
        emit(options.folder / "attention", options.cases)
        return
    torch.manual_seed(1)
    print("| | values | tpsp | PyTorch | tpsp's is | of causal | memory |\n"
          "| --- | --- | --- | --- | --- | --- | --- |")
    results, causal = {}, math.nan
    for case in options.cases:
        row = results[case] = {}
        try:
            row["apart"] = compared(case, options)
            if options.device == "cuda":
                row |= measured(case, options)
        except Exception as error:
            row["error"] = str(error)[:500]
            print(f"| {case} | {row['error']} |", flush=True)
            continue
        finally:
            options.out.write_text(json.dumps(results))
        if "tpsp" not in row:
            print(f"| {case} | {row['apart']:.1e} |", flush=True)
            continue
        if case == "causal":
            causal = row["tpsp"]
        print(f"| {case} | {row['apart']:.1e} | {1e3 * row['tpsp']:.2f} ms "
              f"| {1e3 * row['pytorch']:.2f} ms | {row['tpsp'] / row['pytorch']:.2f} "
              f"| {row['tpsp'] / causal:.2f} | {row['memory'] / 2**30:.2f} GiB |",
              flush=True)


if __name__ == "__main__":
    main()
