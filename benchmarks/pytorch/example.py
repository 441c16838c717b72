"""examples/llama3-8b-block.mlir at other sizes.

    python3 example.py b=2 s=4096 <llama3-8b-block.mlir >OUTPUT.mlir
"""

import re
import sys

TYPES = {
    "x": "b s d", "x_": "b s d", "q": "b s h r k", "kv": "b s h k",
    "past": "b s h k", "mid": "b s e", "gain": "d", "wq": "h r k d",
    "wkv": "h k d", "wo": "d h r k", "wup": "e d", "wdn": "d e",
}
SIZES = dict(b=1, s=512, d=4096, h=8, r=4, k=128, e=14336)


def resized(text, **sizes):
    """The example's text with other extents, by index; the scale of its
    attention follows k."""
    sizes = {**SIZES, **sizes}

    def shaped(match):
        extents = "x".join(str(sizes[i]) for i in TYPES[match[1]].split())
        return f"!{match[1]}{match[2]}tensor<{extents}xf32"

    text, found = re.subn(r"^!(\w+)( *= *)tensor<[\dx]+xf32", shaped, text, flags=re.M)
    if found != len(TYPES):
        raise ValueError(f"expected {len(TYPES)} types of tensors, found {found}")
    return re.sub(r"scale = [\d.]+", f"scale = {sizes['k'] ** -0.5!r}", text)


if __name__ == "__main__":
    given = dict(argument.split("=") for argument in sys.argv[1:])
    sizes = {index: int(extent) for index, extent in given.items()}
    sys.stdout.write(resized(sys.stdin.read(), **sizes))
