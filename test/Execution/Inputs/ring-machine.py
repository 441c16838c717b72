"""Prints a machine on which a gather is best sent around the ring: the given
description with slow collectives and a fast permute."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    machine = json.load(file)
for rates in machine["collectives"]:
    rates.pop("measured_us", None)
    is_hop = rates["kind"] == "permute"
    rates["latency_us"] = 1 if is_hop else 1000
    rates["hop_us"] = 0
    rates["bus_gbs"] = 100 if is_hop else 0.5
json.dump(machine, sys.stdout)
