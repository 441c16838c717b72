"""Checks that tpsp-train trains as PyTorch does. Compares the loss of each of a
hundred steps of AdamW in f32, with clipping, decay, a warmup and a cosine, from
the same weights and the same samples in the same order.

    python3 test/pytorch/train.py build/bin/tpsp-train

The exit status is 77, which ctest reads as skipped, if PyTorch is not
installed.
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy
    import torch
except ImportError:
    print("skipped: PyTorch or numpy is not installed (pip install torch numpy)")
    sys.exit(77)

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "jax"), str(TESTS / "Training" / "Inputs")]
import models
import safetensors
from curves import TP, write_text

STEPS, WARMUP, PEAK, LOW, SEED = 100, 10, 3e-3, 3e-4, 5
TOLERANCE = 1e-4
MASK = (1 << 64) - 1


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def shuffled(position, size, seed, epoch):
    """Returns the sample at a position of an epoch: docs/Training.md, Data."""
    half = 1
    while 1 << (2 * half) < size:
        half += 1
    key, keys = mix(seed) ^ mix(~epoch & MASK), []
    for _ in range(8):
        key = mix(key)
        keys.append(key)
    while True:
        left, right = position >> half, position & ((1 << half) - 1)
        for key in keys:
            left, right = right, left ^ (mix(right ^ key) & ((1 << half) - 1))
        position = left << half | right
        if position < size:
            return position


def batch(data, step):
    samples = (len(data) - 1) // models.S
    numbers = range(step * models.B, (step + 1) * models.B)
    begins = [shuffled(n % samples, samples, SEED, n // samples) * models.S for n in numbers]
    windows = torch.tensor([list(data[at : at + models.S + 1]) for at in begins])
    return windows[:, :-1], windows[:, 1:]


def norm(x, gain):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * gain


def rotated(x):
    """x[b, s, h, k], in halves."""
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[1]).float()[:, None] * 10000.0 ** (
        -torch.arange(half).float() / half)
    cos, sin = angle.cos()[:, None], angle.sin()[:, None]
    one, other = x[..., :half], x[..., half:]
    return torch.cat([one * cos - other * sin, other * cos + one * sin], -1)


def loss_of(w, tokens, targets):
    x = w["table"][tokens]
    for i in range(models.LAYERS):
        l = {name: w[f"layers.{i}.{name}"]
             for name in ("gain0", "wq", "wk", "wv", "wo", "gain1", "w1", "w3", "w2")}
        n = norm(x, l["gain0"])
        q, k, v = (torch.einsum("hkd,bsd->bshk", l[name], n) for name in ("wq", "wk", "wv"))
        o = torch.nn.functional.scaled_dot_product_attention(
            *(t.transpose(1, 2) for t in (rotated(q), rotated(k), v)), is_causal=True)
        x = x + torch.einsum("dhk,bhsk->bsd", l["wo"], o)
        n = norm(x, l["gain1"])
        x = x + (torch.nn.functional.silu(n @ l["w1"].T) * (n @ l["w3"].T)) @ l["w2"].T
    logits = norm(x, w["gain"]) @ w["head"].T
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def rate(step):
    if step < WARMUP:
        return PEAK * step / WARMUP
    share = (step - WARMUP) / (STEPS - WARMUP)
    return LOW + (PEAK - LOW) * (1 + math.cos(math.pi * share)) / 2


def train(weights, data):
    w = {name: torch.from_numpy(array.copy()).requires_grad_() for name, array in weights.items()}
    groups = [{"params": [p for p in w.values() if (p.ndim >= 2) == decays],
               "weight_decay": 0.1 if decays else 0.0} for decays in (True, False)]
    optimizer = torch.optim.AdamW(groups, lr=PEAK, betas=(0.9, 0.95), eps=1e-8)
    losses = []
    for step in range(1, STEPS + 1):
        loss = loss_of(w, *batch(data, step - 1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(w.values()), 0.5)
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        optimizer.step()
        losses.append(loss.item())
    return losses


def tpsp(tool, folder, name, *options):
    subprocess.run(
        [tool, folder / "m.mlir", "--data", folder / "text.txt", "--seed", str(SEED),
         "--out", folder / name, "--quiet", "--clip", "0.5", *options], check=True)
    return folder / name


def main(tool):
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = write_text(folder).read_bytes()
        places = {**TP, "x.b": "@dp", "x.s": "@tp"}
        (folder / "m.mlir").write_text(models.llama("dp = 2 : data, tp = 2 : model", places))
        # At a rate of 0 the parameters keep their initial values.
        begin = tpsp(tool, folder, "begin", "--steps", "1", "--lr", "0")
        weights = safetensors.load(begin / "step-00000001" / "parameters.safetensors")
        out = tpsp(tool, folder, "run", "--steps", str(STEPS), "--lr", str(PEAK),
                   "--warmup", str(WARMUP), "--optimizer-axes", "dp")
        lines = (out / "metrics.jsonl").read_text().splitlines()
    found = [json.loads(line)["loss"] for line in lines]
    wanted = train(weights, data)
    worst = max(abs(a - b) / b for a, b in zip(found, wanted, strict=True))
    print(f"{STEPS} steps, loss {wanted[0]:.4f} to {wanted[-1]:.4f}: within {worst:.1e}")
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
