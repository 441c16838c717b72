"""Checks that the activations of one report are at most a share of another's:
less-memory.py LESS.json MORE.json SHARE"""
import json
import sys


def activations(path):
    with open(path) as file:
        return json.load(file)["memory"]["activations"]


less, more = activations(sys.argv[1]), activations(sys.argv[2])
if less > float(sys.argv[3]) * more:
    sys.exit(f"{less} bytes of activations against {more}")
