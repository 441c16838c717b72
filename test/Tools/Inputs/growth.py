#!/usr/bin/env python3
"""growth.py KIND SIZE COMMAND...: measures how a command's work grows with its
program.

Runs the command with programs of SIZE, 2 SIZE and 4 SIZE operations or
parameters. @ in the command stands for the program's file. Counts the executed
instructions by valgrind, because the machine's load does not change them. For
linear work the second difference of the counts is twice the first; for
quadratic work it is four times the first. Prints "linear", or the counts and
exits with 1. KIND is a function of programs.py.
"""
import os
import re
import subprocess
import sys
import tempfile

import programs

# The largest ratio for a linear command, which includes the growth of hash
# tables.
MOST = 2.4


def instructions(command, program):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.mlir")
        with open(path, "w", encoding="ascii") as file:
            file.write(program)
        done = subprocess.run(
            ["valgrind", "--tool=cachegrind", "--cache-sim=no",
             "--cachegrind-out-file=/dev/null"] +
            [path if each == "@" else each for each in command],
            capture_output=True, check=False)
    errors = done.stderr.decode(errors="replace")
    count = re.search(r"I +refs: +([\d,]+)", errors)
    if done.returncode != 0 or not count:
        sys.exit(f"status {done.returncode}:\n{errors}")
    return int(count[1].replace(",", ""))


kind, size, command = getattr(programs, sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
one, two, four = (instructions(command, kind(times * size)) for times in (1, 2, 4))
growth = (four - two) / (two - one)
if growth > MOST:
    sys.exit(f"not linear: {one:,}, {two:,}, {four:,} instructions; grows {growth:.2f} times")
print(f"linear: grows {growth:.2f} times")
