"""The curves of one model on many meshes.

    curves.py TPSP_TRAIN FOLDER STEPS

Trains small models with AdamW, clipping and decay, by every strategy, and holds
the loss of every step, and the norm of every step, against one rank.
"""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import models


def write_text(folder):
    """Text with structure: what was said is likely to be said again."""
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


def main(tpsp_train, folder, steps):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    data = write_text(folder)

    def train(name, text, *options):
        """The records of a run."""
        path, out = folder / f"{name}.mlir", folder / name
        shutil.rmtree(out, ignore_errors=True)
        path.write_text(text)
        subprocess.run(
            [tpsp_train, path, "--data", data, "--steps", str(steps), "--lr", "3e-3",
             "--clip", "0.5", "--quiet", "--seed", "5", "--out", out, *options], check=True)
        lines = (out / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def off(a, b, key):
        return abs(a[key] - b[key]) / abs(b[key])

    def compare(name, found, wanted, exact):
        """The loss of every step; the norm of the first, which has seen no update."""
        assert len(found) == len(wanted) == steps
        loss = max(off(a, b, "loss") for a, b in zip(found, wanted))
        norm = off(found[0], exact[0], "norm")
        print(f"{name:8} loss within {loss:.1e}, first norm {norm:.1e} off f64", flush=True)
        assert loss <= 1e-5 and norm <= 1e-6, name

    def check(model, strategies):
        one = train("one", model())
        print(f"one rank: loss {one[0]['loss']:.3f} to {one[-1]['loss']:.3f}")
        assert one[-1]["loss"] < 0.7 * one[0]["loss"]
        exact = train("exact", model(), "--dtype", "f64")
        compare("f64", one, exact, exact)
        for name, mesh, places, options in strategies:
            compare(name, train(name, model(mesh, places), *options), one, exact)

    check(models.llama, STRATEGIES)
    rules = ["--optimizer", "muon"]
    compare("muon", train("muon", models.llama("dp = 2 : data, tp = 2 : model",
                                               {**TP, "x.b": "@dp", "x.s": "@tp"}),
                          *rules, "--optimizer-axes", "dp"),
            train("muon-one", models.llama(), *rules),
            train("muon-exact", models.llama(), *rules, "--dtype", "f64"))
    check(models.experts, [("ep", "ep = 4 : data", {"x.b": "@ep"}, [])])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
