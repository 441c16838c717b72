"""Makes whole models from the layers of examples, to test claims about a layer on
many."""
import re


def stacked(text, layers):
    """Returns a program that calls the layer of `text` (in short form) `layers`
    times.

    The layer is the private function of `text`, or its only one. Its first
    argument is the value that layers pass on. Its other arguments are
    parameters, which every layer has of its own.
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
