"""Checks that predicted steps agree within 1 %: their times and their memory.

    check-step.py ONE OTHER                          outputs of tpsp-run --simulate
"""
import pathlib
import re
import sys

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "%": 0.01}


def numbers(path):
    line = next(line for line in pathlib.Path(path).read_text().split("\n") if line.startswith("step "))
    return [float(number) * UNITS[unit] for number, unit in re.findall(r"([\d.]+) ([a-zA-Z%]+)", line)]


one, other = (numbers(path) for path in sys.argv[1:])
if len(one) < 2 or len(one) != len(other) or any(abs(a - b) > 0.01 * abs(b) for a, b in zip(one, other)):
    sys.exit(f"the steps differ: {one} and {other}")
print("steps are equal")
