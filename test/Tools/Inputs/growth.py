#!/usr/bin/env python3
"""growth.py KIND SIZE COMMAND...: how a command's work grows with its program.

Runs the command with programs of SIZE, 2 SIZE and 4 SIZE operations or
parameters; @ in it is the program's file. Counts the instructions that it
executes, by valgrind, which the machine's load does not change. Between the
last two programs there are twice as many more as between the first two if the
work is linear, and four times as many if it is quadratic. Prints "linear", or
the counts and status 1. KIND is a function below.
"""
import os
import re
import subprocess
import sys
import tempfile

HEAD = "tpsp.program <b = 4, d = 8> {\nmesh @mesh <dp = 2 : data>\n"
# By which a linear command's growth may be off, table growth among it.
MOST = 2.6


def chain(size):
    """Operations on elements, one after another."""
    lines = [f"  %y{i + 1} = gelu %y{i}\n" for i in range(size)]
    return (HEAD + "func @f(%x: [b@dp, d], param %w: [d]) -> [b@dp, d] {\n"
            "  %y0 = mul %x, %w\n" + "".join(lines) + f"  return %y{size}\n}}\n}}\n")


def parameters(size):
    """Each with the result before."""
    names = "".join(f", param %w{i}: [d]" for i in range(size))
    lines = [f"  %x{i + 1} = mul %x{i}, %w{i}\n" for i in range(size)]
    return (HEAD + f"func @f(%x0: [b@dp, d]{names}) -> [b@dp, d] {{\n" +
            "".join(lines) + f"  return %x{size}\n}}\n}}\n")


def fan(size):
    """Parameters that all meet one input, whose gradient is a long sum."""
    names = "".join(f", param %w{i}: [d]" for i in range(size))
    lines = [f"  %z{i} = mul %x, %w{i}\n  %s{i + 1} = add %s{i}, %z{i}\n"
             for i in range(size)]
    return (HEAD + f"func @f(%x: [b@dp, d], param %v: [d]{names}) -> [b@dp, d] {{\n"
            "  %s0 = mul %x, %v\n" + "".join(lines) + f"  return %s{size}\n}}\n}}\n")


def layers(size):
    """Calls of one function."""
    return (HEAD + "func private @layer(%x: [b@dp, d], param %w: [d]) -> [b@dp, d] {\n"
            "  %n = mul %x, %w\n  %y = gelu %n\n  return %y\n}\n"
            "func @f(%x: [b@dp, d]) -> [b@dp, d] {\n"
            f'  %y = repeat {size} @layer(%x) as "l#.*"\n  return %y\n}}\n}}\n')


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


kind, size, command = globals()[sys.argv[1]], int(sys.argv[2]), sys.argv[3:]
one, two, four = (instructions(command, kind(times * size)) for times in (1, 2, 4))
growth = (four - two) / (two - one)
if growth > MOST:
    sys.exit(f"not linear: {one:,}, {two:,}, {four:,} instructions; grows {growth:.2f} times")
print(f"linear: grows {growth:.2f} times")
