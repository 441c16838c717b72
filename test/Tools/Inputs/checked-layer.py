"""Writes dumps and a recording of checked-layer.mlir, with names that would be
markup. right.safetensors has its right values."""
import json
from write_dump import cut, read, scaled, write

N = 4
right = read("right.safetensors")
for rank in range(N):
    own = {"grad:gain": right["g[gain]"]}
    for name, dim in {"up": 0, "down": 1, "x": 1}.items():
        own["grad:" + name] = cut(right[f"g[{name}]"], dim, N, rank)
    write("right", rank, own)
    shape, values = right["g[gain]"]
    # Other summands than the program's, whose mean is right.
    own["grad:gain"] = shape, [v * (0.4 + 0.4 * rank) for v in values]
    own["grad:</script><b>"] = right["g[gain]"]
    write("dump", rank, own)

entry = {
    "profiling_name": "nccl:all_reduce",
    "process_group": ["1", "mesh_tp</script><b>"],
    "ranks": [0, 1, 2, 3],
    "input_sizes": [[32]],
    "output_sizes": [[32]],
    "input_dtypes": ["Float"],
    "output_dtypes": ["Float"],
    "frames": [{"name": "f", "filename": "</script><b>.py", "line": 7}],
}
json.dump({"entries": [entry]}, open("trace_rank_0.json", "w"))
