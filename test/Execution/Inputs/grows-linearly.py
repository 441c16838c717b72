"""grows-linearly.py ONE.json TWO.json: checks that a step with twice the
sequence takes at most about twice the time, operations and memory."""
import json
import sys


def figures(path):
    with open(path) as file:
        report = json.load(file)
    return {
        "seconds": report["time"]["steps"][0],
        "activations": report["memory"]["activations"],
    }


one, two = (figures(path) for path in sys.argv[1:])
for name in one:
    ratio = two[name] / one[name]
    print(f"{name}: {one[name]} and {two[name]}, {ratio:.3f} times as much")
    if not 1.5 < ratio < 2.1:
        sys.exit(f"{name} of twice the sequence are {ratio:.2f} times as many")
