#!/usr/bin/env python3
"""Prints a file of nccl-tests from links with a share of the bandwidth.

slower.py FILE TIMES: what the columns of time have beyond their first row is
multiplied by TIMES. The bandwidths are set to match.
"""
import re
import sys

ROW = re.compile(r"^((?:\d+: )?\s*)(\d+)(\s+\d+\s+\S+\s+\S+\s+\S+)((?:\s+\S+){8})$")


def main(path, times):
    first = None
    for line in open(path):
        found = ROW.match(line.rstrip())
        if not found:
            if "size" in line and "count" in line:
                first = None
            print(line, end="")
            continue
        size, fields = int(found[2]), found[4].split()
        first = first or float(fields[0])
        factor = float(fields[2]) / max(float(fields[1]), 1e-9)
        out = found[1] + found[2] + found[3]
        for time, wrong in ((fields[0], fields[3]), (fields[4], fields[7])):
            slow = first + (float(time) - first) * times
            rate = size / slow / 1e3
            out += f"  {slow:7.2f}  {rate:6.2f}  {rate * factor:6.2f}  {wrong:>6}"
        print(out)


main(sys.argv[1], float(sys.argv[2]))
