"""Whole models from examples: whatever is claimed of one layer is claimed of many."""
import re


def stacked(text, layers):
    """A program that calls the layer of `text` so many times.

    The layer is its private function, or its only one, whose first argument is
    what it hands on. Its other arguments are parameters of every layer's own.
    """
    heads = list(re.finditer(
        r"func\.func (private )?@(\w+)\((.*?)\) -> (\S+) \{", text, re.S))
    head = next((each for each in heads if each[1]), heads[0])
    arguments = re.findall(r"(%\w+): (!\w+)(?: \{[^}]*\})?", head[3])
    (_, kind), *weights = arguments
    plain = ", ".join(": ".join(a) for a in arguments)
    end = text.index("\n}\n", head.end()) + 3
    layer = (text[:head.start()] + f"func.func private @layer({plain}) -> {head[4]} {{"
             + text[head.end():end])
    kinds = ", ".join(t for _, t in arguments)
    signature = [f'%x: {kind} {{tpsp.name = "x"}}'] + [
        f'%l{i}{w[1:]}: {t} {{tpsp.param = "l{i}.{w[1:]}"}}'
        for i in range(layers) for w, t in weights]
    body, last = "", "%x"
    for i in range(layers):
        operands = ", ".join([last] + [f"%l{i}{w[1:]}" for w, _ in weights])
        body += f"  %x{i} = func.call @layer({operands}) : ({kinds}) -> {head[4]}\n"
        last = f"%x{i}"
    return (layer + f"func.func @model({', '.join(signature)}) -> {head[4]} {{\n"
            + f"{body}  return {last} : {head[4]}\n}}\n")
