"""Runs the commands of a page and compares with what the page shows of them.

    page-commands.py PAGE EXAMPLES        in an empty directory

A ```mlir block whose first line is "// NAME.mlir" is written to that file. In
a ```console block, a line "$ COMMAND" is run by sh, where `examples` is the
folder of examples; what follows, up to the next one, must be what it prints.
A command ends in "\\" where the next line belongs to it.
"""
import difflib
import os
import re
import subprocess
import sys

BLOCK = re.compile(r"^```(mlir|console)\n(.*?)^```$", re.M | re.S)
PROGRAM = re.compile(r"// ([\w-]+\.mlir)\n")
STEP = re.compile(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", re.M)


def printed(command):
    done = subprocess.run(
        ["sh", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout


def main():
    page, examples = sys.argv[1:]
    os.symlink(examples, "examples")
    with open(page) as file:
        blocks = BLOCK.findall(file.read())
    commands = wrong = 0
    for kind, text in blocks:
        if kind == "mlir":
            name = PROGRAM.match(text)
            if name:
                with open(name[1], "w") as program:
                    program.write(text)
            continue
        for command, shown in STEP.findall(text):
            commands += 1
            found = printed(command)
            if found != shown:
                wrong += 1
                print("$ " + command, end="")
                print(*difflib.ndiff(shown.splitlines(), found.splitlines()), sep="\n")
    print(f"{commands} commands, {wrong} wrong")
    sys.exit(1 if wrong else 0)


main()
