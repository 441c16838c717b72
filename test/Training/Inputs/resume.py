"""Tests runs that end early and are resumed.

    resume.py TPSP_RUN TPSP_TRAIN FOLDER
"""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import models
from curves import TP, write_text

tpsp_run, tpsp_train, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
data = write_text(folder)


def command(model, *options):
    return [tpsp_train, model, "--data", data, "--lr", "3e-3", "--quiet", *options]


def write(name, mesh="", places={}):
    path = folder / f"{name}.mlir"
    path.write_text(models.llama(mesh, places))
    return path


def run(*words, **how):
    subprocess.run(words[0], check=True, **how)


def refusal(words, code=1, **how):
    done = subprocess.run(words, capture_output=True, text=True, **how)
    assert done.returncode == code, (done.returncode, done.stderr)
    lines = [line for line in done.stderr.splitlines() if line]
    assert len(lines) == 1 and lines[0].startswith("tpsp-train: "), done.stderr
    return lines[0]


def metrics(out):
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def losses(out):
    return [(each["step"], each["loss"], each["norm"]) for each in metrics(out)]


def tensors(checkpoint):
    return {file: (checkpoint / file).read_bytes()
            for file in ("parameters.safetensors", "state.safetensors")}


def checkpoints(out):
    return sorted(path for path in out.iterdir() if path.name.startswith("step-"))


# N + M steps equal N steps, a checkpoint, and M steps.
dp = write("dp", "dp = 2 : data", {"x.b": "@dp"})
one = ["--optimizer-axes", "dp", "--steps", "20", "--save-every", "10"]
whole, parts = folder / "whole", folder / "parts"
run(command(dp, *one, "--out", whole))
shutil.copytree(whole / "step-00000010", parts / "step-00000010")
run(command(dp, *one, "--resume", parts))
assert tensors(whole / "step-00000020") == tensors(parts / "step-00000020")
assert losses(parts) == losses(whole)[10:]
print("bit for bit")

# Resuming works on another mesh, with another place for the state, and with
# another number of processes.
others = {
    "one": (write("one"), []),
    "tp": (write("tp", "dp = 2 : data, tp = 2 : model", {**TP, "x.b": "@dp", "x.s": "@tp"}),
           ["--optimizer-axes", "tp"]),
    "fsdp": (write("fsdp", "fsdp = 4 : data", {"x.b": "@fsdp", "w.d": "@fsdp"}), []),
}
for name, (model, options) in others.items():
    out = folder / f"on-{name}"
    shutil.copytree(whole / "step-00000010", out / "step-00000010")
    run(command(model, *options, "--steps", "20", "--resume", out))
    for found, wanted in zip(losses(out), losses(whole)[10:]):
        assert found[0] == wanted[0]
        assert abs(found[1] - wanted[1]) <= 1e-6 * wanted[1], (name, found, wanted)
print("on another mesh: one, tp, fsdp")

# The run is killed at any moment, even while it saves. The remaining checkpoint
# is whole, and a run resumed fifty times equals the run that never ended.
plan = folder / "dp.so"
run([tpsp_run, dp, "--grad", "--optimizer", "adamw", "--optimizer-axes", "dp",
     "--clip", "1", "--emit", plan, "--quiet"])
schedule = ["--schedule", "constant", "--warmup", "0", "--save-every", "1", "--keep", "2"]
killed, moment = folder / "killed", random.Random(3)
kills = last = 0
while kills < 50:
    go_on = ["--resume", killed] if last else ["--out", killed]
    process = subprocess.Popen(command(plan, *schedule, "--steps", "100000", *go_on))
    begin = time.monotonic()
    while time.monotonic() < begin + 1200 and not (
            killed.exists() and checkpoints(killed)
            and int(checkpoints(killed)[-1].name[5:]) > last):
        time.sleep(0.001)
    time.sleep(moment.random() * 0.05)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    kills += 1
    newest = int(checkpoints(killed)[-1].name[5:])
    assert newest > last, (newest, last)
    # There is a line for each step up to the checkpoint; a later line may be
    # cut off.
    lines = (killed / "metrics.jsonl").read_text().splitlines()
    steps = [json.loads(line)["step"] for line in lines[:newest]]
    assert steps == list(range(1, newest + 1)), steps
    last = newest
straight = folder / "straight"
run(command(plan, *schedule, "--steps", str(last), "--out", straight))
assert tensors(checkpoints(killed)[-1]) == tensors(checkpoints(straight)[-1])
print(f"{kills} kills, none lost: the same bits at step {last}")

# The disk is full during saving; here, the size of files is limited.
full = folder / "full"
run(command(plan, *schedule, "--steps", "3", "--out", full))
limit = (full / "step-00000003" / "state.safetensors").stat().st_size // 2
assert limit >= 2048  # OpenMP's runtime writes 1 KiB; see test/Tools/tpsp-run-outputs.mlir
message = refusal(
    command(plan, *schedule, "--steps", "9", "--resume", full),
    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
assert "cannot write" in message and "File too large" in message, message
assert [path.name for path in checkpoints(full)] == ["step-00000002", "step-00000003"]
assert not [path for path in full.iterdir() if path.name.startswith(".")]
run(command(plan, *schedule, "--steps", "5", "--resume", full))
assert losses(full) == losses(straight)[:5]
print("full disk: the last checkpoint is whole")

# Tensors that do not fit are refused by name; moments are not dropped silently.
message = refusal(command(dp, "--optimizer", "lion", "--steps", "30", "--resume", whole))
assert "has the state of --optimizer adamw" in message and "--weights" in message, message
plain = folder / "plain"
run(command(dp, "--optimizer", "sgd", "--steps", "2", "--out", plain))
message = refusal(command(dp, "--optimizer", "adamw", "--steps", "4", "--resume", plain))
assert "has the state of --optimizer sgd" in message, message
# A checkpoint of an older version does not say its optimizer; its state does.
older = folder / "older"
shutil.copytree(plain, older, dirs_exist_ok=True)
position = older / "step-00000002" / "training.json"
known = json.loads(position.read_text())
del known["settings"]
position.write_text(json.dumps(known))
message = refusal(command(dp, "--optimizer", "adamw", "--steps", "4", "--resume", older))
assert "momentum" in message, message
shutil.copytree(whole / "step-00000020", folder / "poor" / "step-00000020")
(folder / "poor" / "step-00000020" / "state.safetensors").write_bytes(
    (whole / "step-00000020" / "parameters.safetensors").read_bytes())
refusal(command(dp, "--steps", "30", "--resume", folder / "poor"))
message = refusal(command(dp, "--steps", "30", "--out", whole))
assert "has checkpoints" in message, message
message = refusal(command(dp, "--steps", "30", "--seed", "3", "--resume", whole))
assert "--seed 0" in message, message
message = refusal(command(dp, "--steps", "30", "--resume", folder / "nowhere"))
assert "no checkpoint" in message, message
print("refusals: all")

# Ctrl-C ends the run after a step, with a checkpoint of it.
stopped = folder / "stopped"
process = subprocess.Popen(command(plan, "--steps", "100000", "--out", stopped))
while not (stopped / "metrics.jsonl").exists() or len(metrics(stopped)) < 3:
    time.sleep(0.01)
process.send_signal(signal.SIGINT)
assert process.wait() == 0
assert checkpoints(stopped)[-1].name == f"step-{metrics(stopped)[-1]['step']:08}"
print("interrupted: saved")

# A loss that is not finite ends the run; the checkpoint before it is kept.
wild = folder / "wild"
message = refusal([tpsp_train, dp, "--data", data, "--quiet", "--lr", "1e9",
                   "--steps", "50", "--save-every", "1", "--out", wild])
assert "the loss of step" in message and "last checkpoint is of step" in message, message
assert all(str(each["loss"]) != "nan" for each in metrics(wild))
print("not finite: told")
