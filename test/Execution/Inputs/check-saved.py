"""Compares reports of two-layers.mlir: nothing redone, selective, full, and
gathered tensors kept."""
import json
import sys


def expect(condition, message):
    if not condition:
        sys.exit(message)


def collectives(report):
    """Returns (phase, kind) -> (count, bytes)."""
    return {
        (phase, kind): (row["count"], row["bytes"])
        for phase, kinds in report["totals"].items()
        for kind, row in kinds.items()
    }


def difference(report, base):
    before = collectives(base)
    return {
        key: tuple(now - then for now, then in zip(row, before[key]))
        for key, row in collectives(report).items()
        if row != before[key]
    }


def rows(report, words):
    return [row for row in report["collectives"] if words in row["reason"]]


def main():
    none, selective, full, gathered = (json.load(open(path)) for path in sys.argv[1:])
    saved = {name: report["memory"]["saved"] for name, report in
             [("none", none), ("selective", selective), ("full", full), ("gathered", gathered)]}

    # A rank's part, s@tp, of x; its scores, h@tp. Two layers.
    part = 2 * 8 * 32 * 4
    scores = 2 * 2 * 16 * 16 * 4
    expect(saved["none"] - saved["selective"] == 2 * 2 * scores,
           "selective keeps scores: the softmax's results and the dropout's")
    # x, the first layer's result, and the second's, which the last norm needs.
    expect(saved["full"] == 3 * part, "full keeps more than the layers' inputs")
    # The norms' results, two a layer, whole instead of sharded.
    expect(saved["gathered"] - saved["none"] == 4 * part, "gathered tensors are not counted")

    expect(difference(selective, none) == {}, "selective communicates")
    expect(not rows(selective, "recomputed"), "selective communicates")
    expect(difference(full, none) == {("backward", "reduce_scatter"): (2, 2 * part)},
           "full redoes other than one reduce-scatter a layer")
    # Each layer has two gathers more, which the gradients of the weights use,
    # too.
    expect(len(rows(full, "recomputed for the backward pass")) == 6, "the ledger does not say so")
    expect(difference(gathered, none) == {("backward", "all_gather"): (-4, -4 * part)},
           "a gather is redone")
    expect(len(rows(gathered, "kept for the backward pass")) == 4, "the ledger does not say so")

    activations = [report["memory"]["activations"] for report in (full, selective, none)]
    expect(activations == sorted(set(activations)), f"memory does not shrink: {activations}")


main()
