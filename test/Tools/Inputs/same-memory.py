"""Checks that the best plan of tpsp-plan --json needs the memory that tpsp-run
--report allocated."""
import json
import sys

plan = json.load(open(sys.argv[1]))["plans"][0]
run = json.load(open(sys.argv[2]))["memory"]
if plan["memory"]["total"] != run["peak"]:
    sys.exit(f"planned {plan['memory']['total']}, allocated {run['peak']}")
