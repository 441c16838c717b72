"""Compares a picture (SVG), a trace and a report (JSON) of one run."""
import json
import sys
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def expect(condition, message):
    if not condition:
        sys.exit(message)


def check_picture(path, ranks):
    root = ElementTree.parse(path).getroot()
    expect(root.tag == SVG + "svg", "no picture")
    kinds = {element.tag.removeprefix(SVG) for element in root.iter()}
    expect("script" not in kinds and "image" not in kinds, f"has {kinds}")
    texts = [element.text for element in root.iter(SVG + "text")]
    expect(any("<a & b>.mlir" in text for text in texts), f"no title in {texts}")
    expect(any(text.startswith("step ") for text in texts), "no summary")
    names = {text for text in texts if text.startswith("rank ")}
    expect(len(names) == ranks, f"{len(names)} ranks are named, not {ranks}")
    sizes = {float(element.get("font-size")) for element in root.iter(SVG + "text")}
    expect(min(sizes) >= 12, f"has text of size {min(sizes)}")
    bars = [e.text for e in root.iter(SVG + "title") if "(exposed " in e.text]
    expect(any(bar.startswith("all_gather g[z]") for bar in bars), f"bars: {bars}")


def check_trace(path, report):
    events = json.load(open(path))["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    expect(len(spans) == report["commands"] * report["ranks"], "spans")
    names = {event["name"] for event in spans}
    expect("matmul y" in names, f"no value's name in {names}")
    memory = [e for e in events if e["ph"] == "C" and e["name"] == "memory in use"]
    peak = max(event["args"]["bytes"] for event in memory)
    expect(0 < peak <= report["memory"]["peak"], f"{peak} bytes in use")
    expect(any(e["ph"] == "C" and e["name"] == "sending" for e in events), "sending")


def check_times(report):
    time, rows = report["time"], report["collectives"]
    # Without overlap no collective is hidden, and no two run at the same time.
    expect(time["hidden_share"] == 0, "something is hidden")
    expect(all(row["hidden_under"] is None for row in rows), "hidden under something")
    total = sum(row["seconds"] for row in rows)
    expect(abs(total - time["communication"]) <= 1e-9 + 1e-6 * total, "sum of seconds")
    exposed = sum(row["exposed_seconds"] for row in rows)
    expect(abs(exposed - time["exposed_communication"]) <= 1e-9 + 1e-6 * total, "exposed")
    expect(0 < time["communication"] <= 2 * max(time["steps"]), "communication")


def main():
    picture, trace, path = sys.argv[1:]
    report = json.load(open(path))
    check_picture(picture, report["ranks"])
    check_trace(trace, report)
    check_times(report)


main()
