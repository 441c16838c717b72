"""Tests runs under mpirun that are ended from outside.

    ended.py TPSP_TRAIN FOLDER MPIRUN...
"""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

tool, folder, *mpirun = sys.argv[1:]
folder = Path(folder)


def command(steps, out):
    return [tool, folder / "m.so", "--data", folder / "text", "--quiet", "--schedule", "constant",
            "--warmup", "0", "--save-every", "1", "--keep", "2", "--timeout", "1e6",
            "--steps", str(steps), *out]


def newest(out):
    return max((int(path.name[5:]) for path in out.glob("step-*")), default=0)


def ranks(parent):
    """Returns the processes that mpirun has started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(entry.parent.name))
    return sorted(found)


def end(how, stop):
    out = folder / how
    process = subprocess.Popen([*mpirun, "-n", "2", *command(100000, ["--out", out])],
                               stderr=subprocess.PIPE, text=True)
    begin = time.monotonic()
    while newest(out) < 3 and time.monotonic() < begin + 1200:
        time.sleep(0.01)
    stop(process)
    said = process.communicate(timeout=1200)[1]
    last = newest(out)
    # The remaining checkpoint is whole: resumed with threads, it gives the
    # result of a run that never ended.
    straight = folder / f"{how}-straight"
    subprocess.run(command(last + 2, ["--resume", out]), check=True)
    subprocess.run(command(last + 2, ["--out", straight]), check=True)
    for file in ("parameters.safetensors", "state.safetensors"):
        one, other = (each / f"step-{last + 2:08}" / file for each in (out, straight))
        assert one.read_bytes() == other.read_bytes(), (how, file)
    print(f"{how}: ended with {process.returncode}, whole at step {last}", flush=True)
    return process.returncode, said


assert end("killed", lambda process: os.kill(ranks(process.pid)[1], signal.SIGKILL))[0] != 0
end("interrupted", lambda process: process.send_signal(signal.SIGINT))


def interrupt_ranks(process):
    for rank in ranks(process.pid):
        os.kill(rank, signal.SIGINT)


assert end("together", interrupt_ranks)[0] == 0

# Each process writes its own parts. The second one fails to write and says so.
code, said = end("full", lambda process: resource.prlimit(
    ranks(process.pid)[1], resource.RLIMIT_FSIZE, (1000, 1000)))
lines = [line for line in said.splitlines() if line.startswith("tpsp-train: ")]
assert code != 0 and len(lines) == 1 and "cannot write" in lines[0], said
assert "File too large" in lines[0] and not list((folder / "full").glob(".saving*")), said

# The processes do not see the same folder, so the first writes for all.
apart = []
for place in ("here", "there"):
    (folder / place).mkdir()
    apart += [":"] if apart else []
    apart += ["-n", "1", "-wdir", folder / place, *command(2, ["--out", "run"])]
subprocess.run([*mpirun, *apart], check=True)
assert not list((folder / "there").iterdir())
subprocess.run(command(2, ["--out", folder / "threads"]), check=True)
for file in ("parameters.safetensors", "state.safetensors"):
    one, other = (folder / run / "step-00000002" / file for run in ("here/run", "threads"))
    assert one.read_bytes() == other.read_bytes(), file
print("apart: the same bytes")
