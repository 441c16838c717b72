"""Checks that each of RANKS ranks has at most 1.02 of its share of what one rank
has, vectors (gains and biases of examples/ddp.mlir) apart.

    check-shares.py ONE.json RANKS.json RANKS KIND...
"""

import json
import sys

one, several = (json.load(open(path))["memory"] for path in sys.argv[1:3])
ranks = int(sys.argv[3])

# Two layers of two gains, a bias of e = 512 and one of d = 128, in f32.
vectors = {"parameters": 2 * (3 * 128 + 512) * 4}
vectors["optimizer"] = 2 * vectors["parameters"]

for kind in sys.argv[4:]:
    share = (one[kind] - vectors[kind]) / ranks
    has = several[kind] - vectors[kind]
    assert share <= has <= 1.02 * share, (kind, has, share)
