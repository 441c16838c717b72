"""check_trace.py TRACE REPORT: checks that each command and rank has one event,
in order, and that events of a stream do not overlap. The collectives must be
the report's."""
import json
import sys

trace = json.load(open(sys.argv[1]))
report = json.load(open(sys.argv[2]))
events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
wanted = [
    (c["kind"], c["axes"], c["bytes"], c["tensor"], c["location"])
    for c in report["collectives"]
]
for rank in range(report["ranks"]):
    mine = [e for e in events if e["pid"] == rank]
    ids = [e["args"]["id"] for e in mine]
    assert ids == list(range(report["commands"])), ids
    ends = {}
    for e in mine:
        assert e["ts"] >= ends.get(e["tid"], 0) - 1e-3, e
        ends[e["tid"]] = e["ts"] + e["dur"]
    found = [e["args"] for e in mine if e["cat"] == "collective"]
    assert [(a["kind"], a["axes"], a["bytes"]) for a in found] == [
        w[:3] for w in wanted
    ], found
    # The event's own name, which comes from the command, says the same.
    mine = [e for e in mine if e["cat"] == "collective"]
    for e, (kind, _, _, tensor, location) in zip(mine, wanted):
        assert e["name"] == f"{kind} {tensor}", e
        assert e["args"]["location"] == location, e
assert len(events) == report["ranks"] * report["commands"]
names = [e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"]
assert sum(name.startswith("rank ") for name in names) == report["ranks"]
