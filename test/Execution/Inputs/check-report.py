"""Checks a report of tpsp-run: every key of docs/Report.md is there, sums agree,
and nothing was copied to be transposed."""
import json
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).parents[3]


def documented_keys():
    """Returns key paths of the table in docs/Report.md, without [] of lists."""
    for line in (ROOT / "docs/Report.md").read_text().splitlines():
        cell = re.match(r"\| (`.*?) \|", line)
        if not cell:
            continue
        for key in re.findall(r"`([^`]+)`", cell.group(1)):
            yield key


def items(value):
    return value if isinstance(value, list) else [value]


def expect(condition, message):
    if not condition:
        sys.exit(f"{sys.argv[1]}: {message}")


def check_key(report, path):
    here = [report]
    for name in path.replace("[]", "").split("."):
        there = []
        for value in here:
            if value is None:  # of options that were not given
                continue
            expect(isinstance(value, dict) and name in value, f"lacks {path}")
            there += items(value[name])
        here = there


def check_totals(report):
    sums = {"forward": {}, "backward": {}}
    for row in report["collectives"]:
        total = sums.setdefault(row["phase"], {}).setdefault(row["kind"], {"count": 0, "bytes": 0})
        total["count"] += 1
        total["bytes"] += row["bytes"]
    expect(report["totals"] == sums, f"totals are not the sums, {sums}")


def check_memory(memory, ranks):
    parts = ["inputs", "parameters", "outputs", "gradients", "master", "optimizer", "activations"]
    expect(memory["peak"] == sum(memory[part] for part in parts), "peak is not the sum")
    # AdamW has two moments for each master and needs a gradient.
    expect(memory["optimizer"] == 2 * memory["master"] or not memory["master"], "moments")
    expect(memory["gradients"] > 0 or not memory["optimizer"], "no gradients to update with")
    expect(memory["peak_all_ranks"] == ranks * memory["peak"], "peak of all ranks")


def check_verification(verify):
    expect(verify["passed"], "verification failed")
    worst = max(tensor["rel_error"] for tensor in verify["tensors"]
                if not tensor["zero_reference"])
    expect(verify["max_rel_error"] == worst, "max_rel_error is not the largest")
    expect(worst <= verify["tolerance"], "passed above the tolerance")


def main():
    report = json.load(open(sys.argv[1]))
    for key in documented_keys():
        check_key(report, key)
    check_totals(report)
    check_memory(report["memory"], report["ranks"])
    check_verification(report["verify"])
    expect(report["transpose_copies"] == 0, "has transpose copies")
    times = report["time"]
    expect(times["step"] == statistics.median(times["steps"]), "step is not the median")
    expect(all(row["location"] for row in report["collectives"]), "lacks a location")


main()
