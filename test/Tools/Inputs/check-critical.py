"""Checks the critical path of a report, a timeline and a page of one step.

check-critical.py REPORT.json TIMELINE.svg PAGE.html [--all]

--all: the path has no pauses, apart from the time to start the step.
"""
import json
import re
import sys

report = json.load(open(sys.argv[1]))
figures = report.get("time", report)
path = figures["critical_commands"]
assert path, "no path"
seconds = sum(each["end"] - each["begin"] for each in path)
assert abs(seconds - figures["critical_path"]) < 1e-9 * len(path), seconds
kinds = sum(figures["critical_kinds"].values())
assert abs(seconds - kinds) < 1e-9 * len(path), figures["critical_kinds"]

pauses = 0
for before, after in zip(path, path[1:]):
    # Ranks of a run leave a collective at different times: the next command may
    # begin before the slowest rank has left.
    assert before["begin"] <= after["begin"], (before, after)
    pause = after["begin"] - before["end"]
    pauses = max(pauses, abs(pause))
if "--all" in sys.argv:
    assert pauses < 1e-5, pauses

svg = open(sys.argv[2], encoding="utf-8").read()
assert ">critical path<" in svg
outlines = re.findall(r"<path d=.([^'\"]*). [^>]*#8a3ffc", svg)
# One is in the legend.
assert len(outlines) > 1, outlines

page = open(sys.argv[3], encoding="utf-8").read()
data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))
step = data["steps"][0]["step"]
drawn = 0
for rank in step["ranks"]:
    for stream, begin, end in zip(*[iter(rank["critical"])] * 3):
        assert 0 <= begin <= end <= step["nanoseconds"], (begin, end)
        drawn += end - begin
# Short pauses are drawn, too.
assert 1e9 * seconds <= drawn + 2 * len(path), (seconds, drawn)
