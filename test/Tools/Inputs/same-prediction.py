"""Checks that the best plan of tpsp-plan --json has the step and the bytes of
tpsp-run --simulate --report, with stages and without."""
import json
import sys

plan = json.load(open(sys.argv[1]))["plans"][0]
run = json.load(open(sys.argv[2]))
if isinstance(run["memory"], dict):
    simulated = run["time"]["step"], run["memory"]["peak"]
else:
    simulated = run["step"], run["needed"]
planned = plan["seconds"], plan["memory"]["total"]
if planned != simulated:
    sys.exit(f"planned {planned}, simulated {simulated}")
