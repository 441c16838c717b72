"""Reads the placements that tpsp-opt --tpsp-explain=dtensor lists."""

import re
from typing import NamedTuple

from torch.distributed.tensor import Partial, Replicate, Shard
from tpsp_torch.program import Tensor

NONE = "none"


class Listed(NamedTuple):
    name: str
    type: Tensor
    words: str


def read(text):
    """Returns the tensors in the order of the list. `words` is NONE if DTensor cannot express a placement."""
    _, _, table = text.partition("placements of DTensor on a mesh")
    found = []
    for line in table.split("\n\n")[0].splitlines()[1:]:
        taken = re.match(r"    (.*)\[([^\[\]]*)\]\s+(?:(none): .*|(\(.*?\))(?:  of .*)?)$", line)
        if taken:
            found.append(Listed(taken[1], _type(taken[2]), taken[3] or taken[4].replace('"max"', "")))
        elif line.strip() not in ("forward", "backward"):
            raise ValueError(f"a line is not understood: {line}")
    return found


def _type(subscripts):
    dims, _, pending = subscripts.partition("|")
    parts = [part.strip().split("@") for part in dims.split(",") if part.strip()]
    return Tensor("f32", tuple((index, tuple(axes)) for index, *axes in parts), tuple(re.findall(r"@(\w+)", pending)))


def words(placements):
    """Returns placements in the words of the list."""
    return f"({', '.join(map(_word, placements))})"


def _word(placement):
    if isinstance(placement, Replicate):
        return "Replicate()"
    if isinstance(placement, Partial):
        return "Partial()"
    if type(placement) is Shard:
        return f"Shard({placement.dim})"
    return f"_StridedShard({placement.dim}, split_factor={placement.split_factor})"
