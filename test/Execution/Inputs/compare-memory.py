"""Compares the peaks of stages' memory that were predicted with those that
were allocated: compare-memory.py SIMULATED.json RUN.json"""

import json
import sys

predicted, run = (json.load(open(path)) for path in sys.argv[1:3])
allocated = [stage["peak"] for stage in run["memory"]["stages"]]
if [stage["memory"]["peak"] for stage in predicted["stages"]] != allocated:
    sys.exit(f"predicted {predicted['stages']}, allocated {allocated}")
print("equal:", len(allocated), "stages")
