# Checks that a report of stages adds up, and that its trace agrees.
import json
import sys

report, trace = (json.load(open(path)) for path in sys.argv[1:])
parts = report["micro_batches"]
end = 0
for stage in report["stages"]:
    chunk = report["chunks"][stage["stage"]]
    computing = parts * (chunk["forward"] + chunk["backward"])
    assert abs(stage["computing"] - computing) < 1e-9, stage
    assert 0 < stage["bubble"] < 1 and stage["waiting_for_sends"] >= 0, stage
    span = computing / (1 - stage["bubble"])
    assert end == 0 or abs(span - end) < 1e-9, (span, end)
    end = span
    memory = stage["memory"]
    lasting = sum(
        memory[part] for part in ("parameters", "gradients", "optimizer", "inputs")
    )
    assert memory["peak"] >= lasting and memory["saved"] > 0, memory
    assert stage["units"] == len(report["stages"]) - stage["stage"]
assert report["step"] > end
assert report["needed"] == max(s["memory"]["peak"] for s in report["stages"])

spans = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
stages = len(report["stages"])
sends = 2 * parts * (stages - 1)
names = {event["name"] for event in spans}
# Stages that meet reduce their gradients before.
reduces = sum(event["name"] == "reduce" for event in spans)
assert reduces <= stages, reduces
assert len(spans) == 2 * parts * stages + sends + stages + reduces, len(spans)
assert {"forward 0", "backward 7", "send 3", "update"} <= names, names
