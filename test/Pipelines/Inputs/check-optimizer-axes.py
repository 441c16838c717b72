"""Compares plans of one step: with whole state, with state divided over RANKS,
and divided without buckets. The model has PARAMETERS parameters.

    check-optimizer-axes.py WHOLE.json DIVIDED.json UNBUCKETED.json RANKS PARAMETERS
"""

import json
import sys

whole, divided, unbucketed = (json.load(open(path)) for path in sys.argv[1:4])
ranks, parameters = map(int, sys.argv[4:])


def rows(report, phase, kind):
    return report["totals"][phase].get(kind, {"count": 0, "bytes": 0})


# Each gradient is scattered, and each parameter gathered, once.
assert rows(unbucketed, "backward", "reduce_scatter")["count"] == parameters
assert rows(unbucketed, "update", "all_gather")["count"] == parameters
assert rows(divided, "backward", "reduce_scatter")["count"] == 1
assert rows(divided, "update", "all_gather")["count"] == 1
assert not rows(divided, "backward", "all_reduce")["count"]

# The bytes are the same as with all-reduces.
all_reduce = rows(whole, "backward", "all_reduce")["bytes"]
for report in [divided, unbucketed]:
    assert all_reduce == (rows(report, "backward", "reduce_scatter")["bytes"] +
                          rows(report, "update", "all_gather")["bytes"])

# There are two moments in f32 for each parameter in f32.
state = whole["memory"]["optimizer"]
assert state == 2 * whole["memory"]["parameters"], state
assert divided["memory"]["optimizer"] * ranks == state
