"""Prints examples/llama3-8b-block.mlir with other sizes.

    python3 example.py b=2 s=4096 <llama3-8b-block.mlir >OUTPUT.mlir
"""

import re
import sys


def resized(text, **sizes):
    """Returns the example's text with other extents, by index. The scale of its
    attention follows k."""
    for index, extent in sizes.items():
        text, found = re.subn(rf"\b{index} = \d+", f"{index} = {extent}", text, count=1)
        if not found:
            raise ValueError(f"the example has no index {index}")
    k = int(re.search(r"\bk = (\d+)", text)[1])
    return re.sub(r"scale = [\d.]+", f"scale = {k ** -0.5!r}", text)


if __name__ == "__main__":
    given = dict(argument.split("=") for argument in sys.argv[1:])
    sizes = {index: int(extent) for index, extent in given.items()}
    sys.stdout.write(resized(sys.stdin.read(), **sizes))
