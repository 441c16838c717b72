"""Verifies a product whose parameter is stored over several axes, of which some
divide its extents and some cut it as a row of elements (decision 0035).

    uneven-axes.py TPSP_RUN FOLDER
"""

import pathlib
import subprocess
import sys

tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])

PROGRAM = """tpsp.program <b = 24, d = {d}, e = {e}> {{
mesh @mesh <{mesh}>
func @model(%x: [b{batch}, d], param %w: [{weight}]) -> [b{batch}, e] {{
  %u = einsum %x, %w -> [b{batch}, e]
  return %u
}}
}}
"""
STEP = ["--grad", "--optimizer", "adamw", "--clip", "1", "--steps", "2"]


def zero(axes):
    return STEP + ["--optimizer-axes", axes]


# Mesh, axes of the batch, parameter, d, e, options. Names of model axes begin
# with t.
CASES = [
    # An axis that divides, and one that cuts, on one index: last and first.
    ("dp=2 cp=3", "@dp@cp", "d, e@dp@cp", 127, 62, []),
    ("dp=2 cp=3", "@dp@cp", "d, e@dp@cp", 127, 62, STEP),
    ("dp=2 cp=3", "@dp@cp", "e@dp@cp, d", 127, 62, STEP),
    ("dp=2 cp=3", "@dp@cp", "d, e", 127, 62, zero("dp,cp")),
    ("dp=2 cp=3", "@dp@cp", "e, d", 127, 62, zero("dp,cp")),
    ("dp=2 cp=3", "@dp@cp", "d, e", 127, 62, zero("cp,dp")),
    # The parameter is divided evenly, its state is cut further.
    ("dp=3 fsdp=2", "@dp@fsdp", "d, e@fsdp", 127, 62, zero("dp")),
    ("dp=2 cp=3", "@dp@cp", "d, e@dp", 128, 62, zero("cp")),
    ("dp=2 cp=3", "@dp@cp", "e@dp, d", 128, 62, zero("cp")),
    # Axes of two indices, in both orders.
    ("dp=2 fsdp=3", "@dp@fsdp", "d@dp, e@fsdp", 6, 5, STEP),
    ("dp=2 fsdp=3", "@dp@fsdp", "d@dp, e@fsdp", 126, 128, STEP),
    ("fsdp=3 dp=2", "@dp@fsdp", "d@dp, e@fsdp", 126, 128, STEP),
    ("dp=2 fsdp=3", "@dp@fsdp", "d@fsdp, e@dp", 128, 126, STEP),
    ("t=2 dp=3", "@dp", "d@t, e@dp", 126, 128, STEP),
    ("dp=3 t=2", "@dp", "d@t, e@dp", 126, 128, STEP),
    ("t=2 dp=3", "@dp", "d@t@dp, e", 128, 126, zero("dp")),
    # The parameter is cut, and its state further or not.
    ("fsdp=3 a=2 z=2", "@fsdp@a@z", "d@a, e@fsdp", 128, 130, zero("z")),
    ("fsdp=3 z=2", "@fsdp@z", "d, e@fsdp", 127, 130, zero("z")),
    ("fsdp=5 z=3", "", "d, e@fsdp", 127, 62, zero("z")),
]

for number, (mesh, batch, weight, d, e, options) in enumerate(CASES):
    axes = ", ".join(f"{axis.split('=')[0]} = {axis.split('=')[1]} : {'model' if axis[0] == 't' else 'data'}"
                     for axis in mesh.split())
    path = folder / f"{number}.mlir"
    path.write_text(PROGRAM.format(mesh=axes, batch=batch, weight=weight, d=d, e=e))
    run = subprocess.run([tool, path, "--verify", *options], capture_output=True, text=True)
    if run.returncode != 0 or "all within tolerance" not in run.stdout:
        sys.exit(f"{path} {' '.join(options)}:\n{run.stdout[-600:]}{run.stderr[-900:]}")
print(len(CASES), "right")
