"""Tests checkpoints that are cut, mixed, incomplete, or written while a run is
killed. Also tests two runs that write to one folder.

    checkpoints.py TPSP_TRAIN FOLDER KILLER

FOLDER has a compiled plan m.so and a text. KILLER is kill-at-write.c as a shared
object.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

tool, folder, killer = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
FILES = ("parameters.safetensors", "state.safetensors", "training.json")
TENSORS = FILES[:2]


def command(steps, *options, lr="1e-3"):
    return [tool, folder / "m.so", "--data", folder / "text", "--quiet", "--threads", "1",
            "--schedule", "constant", "--warmup", "0", "--lr", lr, "--save-every", "1",
            "--steps", str(steps), *options]


def run(words):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stderr


def refusal(words):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1, (done.returncode, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("tpsp-train: "), done.stderr
    return lines[0]


def checkpoint(out, step):
    return out / f"step-{step:08}"


# Three checkpoints of one run, and one of a run at another learning rate.
whole, other = folder / "whole", folder / "other"
run(command(3, "--out", whole))
run(command(3, "--out", other, lr="2e-3"))
assert json.loads((checkpoint(whole, 3) / "training.json").read_text())["files"].keys() == set(TENSORS)


def broken(change):
    """Applies `change` to a copy of the run, resumes from it, and returns the
    refusal."""
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(whole, copy)
    change(checkpoint(copy, 3))
    message = refusal(command(4, "--resume", copy))
    assert str(checkpoint(copy, 3)) in message, message
    assert not checkpoint(copy, 4).exists()
    return message


for name in FILES:
    message = broken(lambda path: (path / name).unlink())
    assert name in message and ("lacks" in message or "has no" in message), message
    size = (checkpoint(whole, 3) / name).stat().st_size
    for cut in sorted({0, 1, 7, 8, size // 2, size - 1}):
        # Cutting off only the newline at its end has no effect.
        if name == "training.json" and cut == size - 1:
            continue
        message = broken(lambda path: os.truncate(path / name, cut))
        assert name in message, message
    for source in (checkpoint(whole, 2), checkpoint(other, 3)):
        message = broken(lambda path: shutil.copy(source / name, path / name))
        assert "is not the file that was written with" in message, message
print("missing, cut, mixed: refused")


def flip(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


for name in TENSORS:
    assert "damaged" in broken(lambda path: flip(path / name))
print("one bit: refused")

# Older checkpoints are not used silently, but may be named.
copy = folder / "copy"
message = broken(lambda path: (path / "training.json").unlink())
assert f"'{checkpoint(copy, 2)}'" in message, message
run(command(4, "--resume", checkpoint(copy, 2), "--out", folder / "from-older"))
message = refusal(command(4, "--out", copy))
assert "has no training.json" in message, message
print("older: by its name alone")

# A checkpoint without hashes of its files is used, with a warning.
shutil.rmtree(copy)
shutil.copytree(whole, copy)
position = checkpoint(copy, 3) / "training.json"
said = json.loads(position.read_text())
del said["files"]
position.write_text(json.dumps(said))
words = [word for word in command(4, "--resume", copy) if word != "--quiet"]
assert "does not say which tensors belong to it" in run(words)
print("without hashes: told")


# The run is killed at every change of the file system; among many writes in a row
# at the first, the last and one between. The remaining checkpoint resumes to the
# result of a run that was never killed.
def preload(at, exchange):
    return {**os.environ, "LD_PRELOAD": killer, "TPSP_KILL_AT": str(at),
            **({} if exchange else {"TPSP_NO_EXCHANGE": "1"})}


def start(out, isThere):
    """If `isThere`, step 3 replaces a checkpoint of that name."""
    shutil.rmtree(out, ignore_errors=True)
    if not isThere:
        return ["--out", out]
    shutil.copytree(checkpoint(whole, 2), checkpoint(out, 3))
    return ["--resume", out]


def moments(kinds):
    numbers = []
    for match in re.finditer("w+|c", kinds):
        first, last = match.start() + 1, match.end()
        numbers += sorted({first, (first + last) // 2, last})
    return numbers


def kill_at_every_change(name, steps, isThere, exchange):
    out = folder / "killed"
    words = command(steps, "--keep", "2", *start(out, isThere))
    done = subprocess.run(words, env=preload(0, exchange), capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
    kinds = done.stderr.split("changes: ")[1].strip()
    for at in moments(kinds):
        start(out, isThere)
        killed = subprocess.run(words, env=preload(at, exchange), capture_output=True)
        assert killed.returncode == -signal.SIGKILL, (at, killed.stderr)
        go = "--resume" if list(out.glob("step-*")) else "--out"
        assert go == "--resume" or not isThere, (name, at)
        run(command(3, "--keep", "2", go, out))
        for file in TENSORS:
            one, two = (checkpoint(path, 3) / file for path in (out, whole))
            assert one.read_bytes() == two.read_bytes(), (name, at, file)
        left = [path.name for path in out.iterdir() if not path.name.startswith("step-0")]
        assert sorted(left) == ["metrics.jsonl", "run.lock"], (name, at, left)
        assert not list(out.glob("*-replaced")), (name, at)
    assert len(moments(kinds)) > 20, kinds
    print(f"killed, {name}: whole at each change", flush=True)


kill_at_every_change("from nothing", 2, isThere=False, exchange=True)
kill_at_every_change("changing places", 3, isThere=True, exchange=True)
kill_at_every_change("renamed", 3, isThere=True, exchange=False)

# Two writers.
first = subprocess.Popen(command(100000, "--out", folder / "shared"))
lock = folder / "shared" / "run.lock"
while not (lock.exists() and checkpoint(folder / "shared", 2).exists()):
    assert first.poll() is None
owner = f"process {first.pid} on host {socket.gethostname()}"
assert lock.read_text() == owner, lock.read_text()
for go in (["--out", folder / "shared"], ["--resume", folder / "shared"]):
    message = refusal(command(3, *go))
    assert f"{owner} writes to '{folder / 'shared'}'" in message, message
# The lock of a killed run is free.
first.kill()
first.wait()
last = max(int(path.name[5:]) for path in (folder / "shared").glob("step-*"))
run(command(last + 1, "--resume", folder / "shared"))
print("two writers: one of them")
