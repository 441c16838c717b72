#!/usr/bin/env python3
"""irregular.py COMMAND...: runs the command with files that are not regular.

Each @ of the command becomes, in turn: a pipe without a writer, a pipe whose
writer stays open, /dev/zero, a socket and a folder. Prints a line for each: its
name, the exit status, and the first line of the errors. A command that has not
ended after two minutes is taken to wait for ever.
"""
import os
import socket
import subprocess
import sys
import tempfile


def described(command):
    try:
        done = subprocess.run(command, capture_output=True, timeout=120,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "does not end"
    lines = done.stderr.decode(errors="replace").splitlines() or [""]
    return f"status {done.returncode}: {lines[0]}"


folder = tempfile.mkdtemp()
os.chdir(folder)
os.mkfifo("pipe")
os.mkfifo("written")
writer = os.open("written", os.O_RDWR)
socket.socket(socket.AF_UNIX).bind("socket")
os.mkdir("folder")
for name in ["pipe", "written", "/dev/zero", "socket", "folder"]:
    path = os.path.join(folder, name)
    command = [each.replace("@", path) for each in sys.argv[1:]]
    print(f"{name}: {described(command)}")
