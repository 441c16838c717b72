"""Compares the curves of one model on many meshes.

    curves.py TPSP_TRAIN FOLDER STEPS [STRATEGY...]

Trains small models with AdamW, clipping and decay, by every strategy, or by the
named ones. Compares the loss of every step with one rank in f32, and the norm
of every step with one rank in f64.
"""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import models


def write_text(folder):
    """Writes text with structure, in which words recur."""
    source = random.Random(7)
    words = [bytes(source.randrange(1, models.V) for _ in range(5)) for _ in range(40)]
    path = folder / "text.txt"
    path.write_bytes(b"".join(source.choice(words) for _ in range(6000)))
    return path


TP = {"w.h": "@tp", "w.e": "@tp", "w.v": "@tp"}
STRATEGIES = [
    # name, mesh, places, options
    ("dp", "dp = 4 : data", {"x.b": "@dp"}, []),
    ("fsdp", "fsdp = 4 : data", {"x.b": "@fsdp", "w.d": "@fsdp"}, []),
    ("tp", "tp = 4 : model", TP, []),
    ("tp-sp", "tp = 4 : model", {**TP, "x.s": "@tp"}, []),
    ("zero1", "dp = 2 : data, tp = 2 : model", {**TP, "x.b": "@dp", "x.s": "@tp"},
     ["--optimizer-axes", "dp"]),
    ("hybrid", "dp = 2 : data, fsdp = 2 : data",
     {"x.b": "@dp@fsdp", "w.d": "@fsdp"}, ["--optimizer-axes", "dp"]),
    ("cp", "cp = 4 : data", {"x.s": "@cp", "ids.s": "@cp"}, []),
    ("cp-ring", "cp = 4 : data", {"x.s": "@cp", "ids.s": "@cp"},
     ["--attention", "blocks", "--attention-block", "8"]),
    ("micro", "dp = 2 : data", {"x.b": "@dp"}, ["--micro-batches", "4"]),
    ("zero2", "dp = 2 : data, tp = 2 : model", {**TP, "x.b": "@dp", "x.s": "@tp"},
     ["--optimizer-axes", "dp", "--micro-batches", "4", "--reduce-gradients", "part"]),
    ("forward", "dp = 2 : data, tp = 2 : model", {**TP, "x.b": "@dp", "x.s": "@tp"},
     ["--optimizer-axes", "dp", "--gather-parameters", "forward"]),
    ("overlap", "dp = 2 : data, tp = 2 : model", {**TP, "x.b": "@dp", "x.s": "@tp"},
     ["--optimizer-axes", "dp", "--overlap", "on", "--bucket-layers", "on"]),
]


MUON = ("muon", "dp = 2 : data, tp = 2 : model", {**TP, "x.b": "@dp", "x.s": "@tp"},
        ["--optimizer-axes", "dp"])
# Steps of the runs in f64.
SHORT = 10


def main(tpsp_train, folder, steps, *names):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    data = write_text(folder)

    def train(name, text, *options, last=steps):
        """Returns the records of a run."""
        path, out = folder / f"{name}.mlir", folder / name
        shutil.rmtree(out, ignore_errors=True)
        path.write_text(text)
        subprocess.run(
            [tpsp_train, path, "--data", data, "--steps", str(last), "--lr", "3e-3",
             "--clip", "0.5", "--quiet", "--seed", "5", "--out", out, *options], check=True)
        lines = (out / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def off(a, b, key):
        return abs(a[key] - b[key]) / abs(b[key])

    def compare(name, found, wanted, exact, exact_wanted):
        """Compares the losses, and the norms of runs in f64, since in f32 rounding
        makes norms diverge. The first step's norm, before any update, equals that
        in f64, too."""
        assert len(found) == len(wanted) == steps and len(exact) == len(exact_wanted) == SHORT
        loss = max(off(a, b, "loss") for a, b in zip(found, wanted))
        first = off(found[0], exact_wanted[0], "norm")
        norm = max(off(a, b, "norm") for a, b in zip(exact, exact_wanted))
        print(f"{name:8} loss within {loss:.1e}, first norm {first:.1e} off f64; "
              f"norms of f64 within {norm:.1e}", flush=True)
        assert loss <= 1e-5 and first <= 1e-6 and norm <= 1e-6, name

    def check(model, strategies, *rules):
        """Compares with one rank, which has the same optimizer."""
        def both(name, text, *options):
            return (train(name, text, *rules, *options),
                    train(name, text, *rules, *options, "--dtype", "f64", last=SHORT))

        one, exact = both("one", model())
        print(f"one rank: loss {one[0]['loss']:.3f} to {one[-1]['loss']:.3f}")
        assert one[-1]["loss"] < 0.85 * one[0]["loss"]
        for name, mesh, places, options in strategies:
            if names and name not in names:
                continue
            found, in_f64 = both(name, model(mesh, places), *options)
            compare(name, found, one, in_f64, exact)

    check(models.llama, STRATEGIES)
    check(models.llama, [MUON], "--optimizer", "muon")
    check(models.experts, [("ep", "ep = 4 : data", {"x.b": "@ep"}, [])])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
