"""Prints a description of h100-sxm with rates of bf16 products by alignment. If
rows begin at multiples of 2 bytes, the rate is an eighth; at multiples of 4 or
8, half."""

import json
from pathlib import Path

hardware = Path(__file__).resolve().parents[3] / "hardware/h100-sxm.json"
matmul = json.loads(hardware.read_text())["matmul"]
matmul["bf16"]["relative_aligned"] = [[2, 0.125], [8, 0.5]]
print(json.dumps({"base": "h100-sxm", "name": "aligned", "matmul": matmul}))
