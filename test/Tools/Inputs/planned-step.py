"""Compares the best plan of tpsp-plan --json with a report of tpsp-run.

planned-step.py PLAN.json RUN.json
"""
import json
import sys

best = json.load(open(sys.argv[1]))["plans"][0]
report = json.load(open(sys.argv[2]))
seconds = report["step"] if "step" in report else report["time"]["step"]
assert abs(seconds - best["seconds"]) <= 1e-9 * seconds, (seconds, best)
