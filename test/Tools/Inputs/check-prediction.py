"""Checks a simulated report: FILE HIDDEN_SHARE CHECK [OTHER]."""
import json
import math
import sys


def load(path):
    with open(path) as file:
        return json.load(file)


def close(a, b):
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-12)


report, hidden, check = load(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
time, prediction = report["time"], report["prediction"]
assert time["simulated"] is True and report["backend"] == "simulated"
assert close(time["hidden_share"], hidden), time["hidden_share"]
# All exposed time belongs to collectives.
exposed = sum(row["exposed_seconds"] for row in report["collectives"])
assert close(exposed, time["exposed_communication"]), exposed
live = prediction["memory_peak"]["live"]
peak = prediction["memory_peak"]["bytes"]
assert sum(buffer["bytes"] for buffer in live) == peak, peak
assert 0 < peak <= report["memory"]["peak"]
# The step is not faster than the data sheet allows, and not absurdly slow.
floor = report["matmul_flops"] / 989e12
assert floor < time["step"] < 100 * floor, (floor, time["step"])

if check == "one-stream":
    kinds = sum(kind["seconds"] for kind in prediction["kinds"].values())
    total = prediction["computing"] + time["communication"]
    assert close(kinds, total), (kinds, total)
    # The difference is the host's time for the first command.
    assert 0 <= time["step"] - total < 5e-6, (total, time["step"])
    assert all(row["hidden_under"] is None for row in report["collectives"])
elif check == "same-as":
    other = load(sys.argv[4])
    assert other["prediction"] == prediction
elif check == "slower-than":
    assert time["step"] > load(sys.argv[4])["time"]["step"]
else:
    sys.exit("unknown check " + check)
