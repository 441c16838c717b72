"""write-index.py SAFETENSORS INDEX...: writes indices of a file; it is part.st next to each
index."""

import json
import sys

with open(sys.argv[1], "rb") as file:
    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
names = {name: "part.st" for name in header if name != "__metadata__"}
for path in sys.argv[2:]:
    with open(path, "w") as file:
        json.dump({"weight_map": names}, file)
