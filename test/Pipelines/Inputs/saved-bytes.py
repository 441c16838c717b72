"""Compares the saved activations of a GPT layer with the formulas of arXiv
2205.05198 (16-bit activations, 1-byte masks).

    tpsp-opt ... (a plan) | saved-bytes.py SHARDING MODE MASKS s b h a t

SHARDING is whole, tp or sp; MODE is none, selective or full; MASKS is kept
(the formulas as printed) or drawn (without their mask terms).
"""
import re
import sys


def formula(sharding, mode, s, b, h, a, t):
    """Equations 1, 2, 4, 6 and table 2, and full recomputation."""
    sbh, scores = s * b * h, 5 * a * s * s * b
    if mode == "full":
        return 2 * sbh // (t if sharding == "sp" else 1)
    attention = scores // t if mode == "none" else 0
    if sharding == "whole":
        return 34 * sbh + attention
    if sharding == "tp":
        return 10 * sbh + 24 * sbh // t + attention
    return 34 * sbh // t + attention


def mask_terms(sharding, mode, s, b, h, a, t):
    """The masks of both halves' results, sharded only under SP, and the mask of
    attention's weights, if it is saved."""
    if mode == "full":
        return 0
    halves = 2 * s * b * h // (t if sharding == "sp" else 1)
    return halves + (a * s * s * b // t if mode == "none" else 0)


def main():
    sharding, mode, masks, *sizes = sys.argv[1:]
    sizes = [int(size) for size in sizes]
    expected = formula(sharding, mode, *sizes)
    if masks == "drawn":
        expected -= mask_terms(sharding, mode, *sizes)
    found = re.findall(r"saved_bytes = (\d+)", sys.stdin.read())
    if found != [str(expected)]:
        sys.exit(f"{' '.join(sys.argv[1:])}: the formula says {expected}, the plan {found}")


main()
