"""Compares the losses of two files of metrics.

  compare-losses.py ONE.jsonl OTHER.jsonl TOLERANCE

Every step of ONE must be in OTHER, with a loss that differs by less than
TOLERANCE, relatively.
"""
import json
import sys


def losses(path):
    rows = (json.loads(line) for line in open(path))
    return {row["step"]: row["loss"] for row in rows if "loss" in row}


one, other, tolerance = losses(sys.argv[1]), losses(sys.argv[2]), float(sys.argv[3])
assert one, "no losses"
for step, loss in one.items():
    assert step in other, f"step {step} is missing"
    assert abs(other[step] - loss) <= tolerance * abs(loss), (step, loss, other[step])
