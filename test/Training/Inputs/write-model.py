"""write-model.py FILE MESH INDEX=AXES...: writes a model of models.py, and a text next
to it."""

import sys
from pathlib import Path

import models
from curves import write_text

path, mesh, *places = sys.argv[1:]
Path(path).write_text(models.llama(mesh, dict(place.split("=") for place in places)))
write_text(Path(path).parent).rename(Path(path).parent / "text")
