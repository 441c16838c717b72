"""Tests two processes with different arguments or files.

    disagree.py TPSP_TRAIN FOLDER MPIRUN...
"""

import shutil
import subprocess
import sys
from pathlib import Path

tool, folder, *mpirun = sys.argv[1:]
folder = Path(folder)
COMMON = ["--steps", "2", "--quiet"]


def train(one, other, model="m.so", data=("text", "text")):
    """Returns the messages of a process with the options `one` and a process
    with `other`."""
    words = []
    for options, file in zip((one, other), data):
        words += [":"] if words else []
        words += ["-n", "1", tool, folder / model, "--data", folder / file, *COMMON, *options]
    return subprocess.run([*mpirun, *words], capture_output=True, text=True, timeout=1200)


def told(what, wanted, one, other, *rest):
    done = train(one, other, *rest)
    said = [line for line in done.stderr.splitlines() if line.startswith("tpsp-train: ")]
    assert done.returncode != 0 and said == ["tpsp-train: " + wanted], (what, done.stderr)
    print(f"{what}: told", flush=True)


def disagree(what, *rest):
    told(what, f"{what} of rank 1 is not that of rank 0; give all processes the same", *rest)


def read_other(what, file, *rest):
    told(f"the contents of {what}", f"{what} of rank 1 has other contents than '{file}' of rank 0; "
         "give all processes the same file", *rest)


disagree("--lr", [], ["--lr", "1e-3"])
disagree("--schedule", [], ["--schedule", "constant"])
disagree("--seed", [], ["--seed", "1"])
disagree("--out", ["--out", folder / "here"], ["--out", folder / "there"])
read_other("--data", folder / "text", [], [], "m.so", ("text", "other"))
# Even the last token counts.
late = folder / "late"
late.write_bytes((folder / "text").read_bytes()[:-1] + b"\x01")
read_other("--data", folder / "text", [], [], "m.so", ("text", "late"))
evaluated = ["--eval-data", folder / "text"], ["--eval-data", folder / "other"]
read_other("--eval-data", folder / "text", *evaluated, "m.mlir")
subprocess.run([*mpirun, "-n", "2", tool, folder / "m.so", "--data", folder / "text",
                *COMMON, "--out", folder / "run"], check=True)
last = folder / "run" / "step-00000002"


def resume_other(name, change):
    """Makes the second process resume from a copy whose file `name` is
    changed."""
    copy = folder / "copy" / last.name
    shutil.rmtree(copy.parent, ignore_errors=True)
    shutil.copytree(last, copy)
    change(copy / name)
    return ["--resume", folder / "run"], ["--resume", copy.parent]


def samples(path):
    path.write_text(path.read_text().replace('"samples": 16', '"samples": 8'))


read_other("--resume", last / "training.json", *resume_other("training.json", samples))
disagree("--clip", [], ["--clip", "0.5"], "m.mlir")
# Some options may differ between processes, and files may be copies.
copies = resume_other("training.json", lambda path: None)
done = train(["--threads", "1", "--log-every", "1", *copies[0]],
             ["--threads", "2", "--timeout", "31", *copies[1]])
assert done.returncode == 0, done.stderr
print("alike: trained")
