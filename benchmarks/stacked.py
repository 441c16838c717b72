"""Whole models from examples: whatever is claimed of one layer is claimed of many."""
import re


def stacked(text, layers):
    """A program that calls the layer of `text` (in short form) so many times.

    The layer is its private function, or its only one, whose first argument is
    what it hands on. Its other arguments are parameters of every layer's own.
    """
    heads = list(re.finditer(r"(?m)^func (private )?@(\w+)\(%\w+: (\S*?\[.*?\])", text))
    head = next((each for each in heads if each[1]), heads[0])
    end = text.index("\n}\n", head.end()) + 3
    layer = text[head.start():end].replace("func @", "func private @", 1)
    return f"""{text[:heads[0].start()]}{layer}
func @model(%x: {head[3]}) -> {head[3]} {{
  %y = repeat {layers} @{head[2]}(%x) as "l#.*"
  return %y
}}
}}
"""
