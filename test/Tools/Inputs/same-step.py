"""Checks that the best plan of tpsp-plan --json has the step and the bytes of
tpsp-run --simulate --report."""
import json
import sys

plan = json.load(open(sys.argv[1]))["plans"][0]
step = json.load(open(sys.argv[2]))
planned = plan["seconds"], plan["memory"]["total"], plan["bubble"]
simulated = step["step"], step["needed"], step["bubble"]
if planned != simulated:
    sys.exit(f"planned {planned}, simulated {simulated}")
