"""Tests training with dropout, loss scales and 16 bits.

    precision.py TPSP_TRAIN FOLDER
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import curves
import models

PLACES = {**curves.TP, "x.b": "@dp", "x.s": "@tp"}
MESH = "dp = 2 : data, tp = 2 : model"


class Runs:
    def __init__(self, tpsp_train, folder):
        self.tpsp_train, self.folder = tpsp_train, folder

    def train(self, name, text, data, *options):
        """Returns the records of a run."""
        path, out = self.folder / f"{name}.mlir", self.folder / name
        path.write_text(text)
        command = [self.tpsp_train, path, "--data", data, "--clip", "0.5", "--seed", "5",
                   "--quiet", *options]
        if "--resume" not in options:
            shutil.rmtree(out, ignore_errors=True)
            command += ["--out", out]
        subprocess.run(command, check=True)
        lines = (out / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


def losses(records):
    return [each["loss"] for each in records]


def far(a, b):
    """Returns the largest relative difference of two runs' losses."""
    assert len(a) == len(b)
    return max(abs(x - y) / abs(y) for x, y in zip(losses(a), losses(b)))


def dropping(text):
    """Tests dropout of attention's weights and after every layer."""
    text = text.replace("causal}", "causal, dropout = 0.1, seed = 9}")
    dropped = text.replace("%z = tpsp.add %h, %f",
                           "%fd = tpsp.dropout %f {rate = 0.2, seed = 4} : !x_\n"
                           "  %z = tpsp.add %h, %fd")
    assert dropped.count("dropout") == 2
    return dropped


def check_dropout(runs, data):
    one = runs.train("drop", dropping(models.llama()), data, "--steps", "6", "--lr", "3e-3")
    for name, mesh, places, options in [
            ("drop-mesh", MESH, PLACES, ["--optimizer-axes", "dp"]),
            ("drop-blocks", "tp = 2 : model", curves.TP,
             ["--attention", "blocks", "--attention-block", "8"]),
            ("drop-masks", MESH, PLACES, ["--keep-masks"])]:
        other = runs.train(name, dropping(models.llama(mesh, places)), data,
                           "--steps", "6", "--lr", "3e-3", *options)
        assert far(other, one) <= 1e-5, (name, far(other, one))
    # The rate is 0 and all sequences are the same, so only masks differ.
    same = runs.folder / "same.txt"
    same.write_bytes(b"\x07" * (models.B * models.S + 1))
    still = ["--steps", "4", "--lr", "0", "--eval-data", same]
    drawn = runs.train("still", dropping(models.llama()), same, *still)
    assert len(set(losses(drawn))) == 4, losses(drawn)
    # An evaluation drops nothing.
    plain = runs.train("plain", models.llama(), same, *still)
    assert len(set(losses(plain))) == 1, losses(plain)
    assert drawn[-1]["eval_loss"] == plain[-1]["eval_loss"]
    # Kernels of a program without a backward pass may add in another order.
    assert abs(plain[-1]["eval_loss"] - plain[0]["loss"]) < 1e-6
    print("dropout: masks are the step's on every mesh, and none in evaluations")


def check_scale(runs, data):
    often = ["--steps", "12", "--lr", "3e-3"]
    plain = runs.train("unscaled", models.llama(), data, *often)
    for scale in "1024", "dynamic:1024":
        scaled = runs.train("scaled", models.llama(), data, *often, "--loss-scale", scale,
                            "--loss-scale-window", "5")
        assert far(scaled, plain) <= 1e-6, far(scaled, plain)
        norms = [abs(a["norm"] - b["norm"]) / b["norm"] for a, b in zip(scaled, plain)]
        assert max(norms) <= 1e-5, norms
    scales = [each["loss_scale"] for each in scaled]
    assert scales == [1024.0] * 4 + [2048.0] * 5 + [4096.0] * 3, scales
    print("loss scale: a power of two changes nothing, and grows every window")


def check_f16(runs, data):
    options = ["--lr", "3e-3", "--schedule", "constant", "--dtype", "f16", "--loss-scale",
               f"dynamic:{2**22}", "--loss-scale-window", "6", "--steps", "16"]
    one = runs.train("half", models.llama(), data, *options)
    skipped = [each["step"] for each in one if each.get("skipped")]
    # The scale decreases until nothing overflows, and grows again as long as
    # the loss's type can hold it.
    assert skipped[:2] == [1, 2] and 2 < len(skipped) < 12, skipped
    assert one[-1]["loss"] < 0.95 * one[0]["loss"]
    mesh = runs.train("half-mesh", models.llama(MESH, PLACES), data, *options,
                      "--optimizer-axes", "dp")
    assert [e["step"] for e in mesh if e.get("skipped")] == skipped
    assert far(mesh, one) <= 5e-3, far(mesh, one)
    # A resumed run keeps the scale and the number of steps without overflow.
    runs.train("again", models.llama(), data, *options[:-1], "7")
    again = runs.train("again", models.llama(), data, *options, "--resume",
                       runs.folder / "again")
    same = ["loss", "loss_scale"]
    assert [[e[k] for k in same] for e in again] == [[e[k] for k in same] for e in one]
    print(f"f16: the same {len(skipped)} of 16 steps are skipped on every mesh")


def check_growth(runs, data):
    def scales(name, *options):
        records = runs.train(name, models.llama(), data, "--lr", "1e-5", "--loss-scale-window",
                             "3", "--steps", "14", *options)
        return records, [each["loss_scale"] for each in records]
    # The loss is f32, so only gradients in f16 limit the scale: a step that
    # overflows is skipped and halves it.
    records, half = scales("grown", "--dtype", "f16", "--loss-scale", "dynamic:8192")
    assert half[:8] == [8192.0] * 2 + [16384.0] * 3 + [32768.0] * 3, half
    assert max(half) > 32768.0, half
    for before, after in zip(records, records[1:]):
        factor = after["loss_scale"] / before["loss_scale"]
        assert factor == 0.5 if after.get("skipped") else factor in (1, 2), records
    records, single = scales("grown-f32", "--loss-scale", "dynamic:32768")
    assert single[-1] == 16 * 32768.0 and not any(e.get("skipped") for e in records), single
    print("growth: a scale doubles every window, until gradients overflow")


def check_bf16(runs, data):
    places = {"x.b": "@dp"}
    common = ["--steps", "6", "--lr", "3e-3", "--dtype", "bf16"]
    parts = ["--micro-batches", "4", "--optimizer-axes", "dp"]
    one = runs.train("brain", models.llama(), data, *common)
    worst = 0
    for name, options in [("wide", ["--reduce-dtype", "f32"]),
                          ("narrow", ["--reduce-dtype", "bf16"]),
                          ("zero2", ["--reduce-gradients", "part"]),
                          ("zero2-wide", ["--reduce-gradients", "part", "--reduce-dtype",
                                          "f32"]),
                          ("forward", ["--gather-parameters", "forward"])]:
        other = runs.train(f"brain-{name}", models.llama("dp = 2 : data", places), data,
                           *common, *parts, *options)
        worst = max(worst, far(other, one))
    assert worst <= 1e-2, worst
    print("bf16: however gradients are summed, losses agree")


def main(tpsp_train, folder):
    folder.mkdir(parents=True, exist_ok=True)
    models.LAYERS = 2
    runs = Runs(tpsp_train, folder)
    data = curves.write_text(folder)
    check_dropout(runs, data)
    check_scale(runs, data)
    check_f16(runs, data)
    check_growth(runs, data)
    check_bf16(runs, data)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
