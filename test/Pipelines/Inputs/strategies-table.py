"""The tables of docs/strategies/README.md against the reports of the runs.

    strategies-table.py README EXAMPLES        in a directory to write in

A row is: page, `example` (maybe "with `flags`"), mesh, then parameters, bytes
sent forward and backward, and saved activations, in KiB of one rank.
"""
import json
import re
import subprocess
import sys

ROW = re.compile(r"^\| \[[^|]*\| `([^`]*)`(?: with `([^`]*)`)? \| `([^`]*)` \| (.*) \|$")


def reported(example, flags):
    """The row's numbers as a run reports them."""
    command = ["tpsp-run", example, *flags, "--grad", "--quiet"]
    subprocess.run([*command, "--report", "report.json"], check=True)
    with open("report.json") as file:
        report = json.load(file)
    sent = [
        sum(kind["bytes"] for kind in report["totals"][phase].values())
        for phase in ("forward", "backward")
    ]
    memory = report["memory"]
    counts = [memory["parameters"], *sent, memory["saved"]]
    return report["mesh"], [f"{count / 1024:.15g}" for count in counts]


def main():
    readme, examples = sys.argv[1:]
    rows = [row for row in map(ROW.match, open(readme)) if row]
    wrong = 0
    for row in rows:
        name, flags, mesh, numbers = row.groups()
        sizes, found = reported(f"{examples}/{name}.mlir", (flags or "").split())
        shown = dict(re.findall(r"(\w+) = (\d+)", mesh))
        sizes = {axis: str(size) for axis, size in sizes.items()}
        if shown != sizes or numbers.split(" | ") != found:
            wrong += 1
            print(f"{name}: the page says {mesh}, {numbers}; a run {sizes}, "
                  + " | ".join(found))
    print(f"{len(rows)} rows, {wrong} wrong")
    sys.exit(1 if wrong else 0)


main()
