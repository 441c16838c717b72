"""Two processes that were told different things.

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
    """What a process with the options `one`, and one with `other`, say."""
    words = []
    for options, file in zip((one, other), data):
        words += [":"] if words else []
        words += ["-n", "1", tool, folder / model, "--data", folder / file, *COMMON, *options]
    return subprocess.run([*mpirun, *words], capture_output=True, text=True, timeout=120)


def disagree(what, one, other, *rest):
    done = train(one, other, *rest)
    said = [line for line in done.stderr.splitlines() if line.startswith("tpsp-train: ")]
    wanted = f"tpsp-train: {what} of rank 1 is not that of rank 0; give all processes the same"
    assert done.returncode != 0 and said == [wanted], (what, done.stderr)
    print(f"{what}: told", flush=True)


disagree("--lr", [], ["--lr", "1e-3"])
disagree("--schedule", [], ["--schedule", "constant"])
disagree("--seed", [], ["--seed", "1"])
disagree("what --data holds", [], [], "m.so", ("text", "other"))
subprocess.run([*mpirun, "-n", "2", tool, folder / "m.so", "--data", folder / "text",
                *COMMON, "--out", folder / "run"], check=True)
shutil.copytree(folder / "run" / "step-00000002", folder / "earlier" / "step-00000002")
position = folder / "earlier" / "step-00000002" / "training.json"
position.write_text(position.read_text().replace('"samples": 16', '"samples": 8'))
evaluated = ["--eval-data", folder / "text"], ["--eval-data", folder / "other"]
disagree("what --eval-data holds", *evaluated, "m.mlir")
disagree("the position in --resume", ["--resume", folder / "run"],
         ["--resume", folder / "earlier"])
disagree("--clip", [], ["--clip", "0.5"], "m.mlir")
# What is each process's own.
done = train(["--threads", "1", "--log-every", "1"], ["--threads", "2", "--timeout", "31"])
assert done.returncode == 0, done.stderr
print("alike: trained")
