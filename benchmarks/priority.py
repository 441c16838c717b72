"""Runs that come before others on a machine that is in use."""
import os
import pathlib


def prefer():
    """Of a child process, as root: a session of its own, before others.

    Linux shares cores between sessions first (autogroups).
    """
    os.setsid()
    os.nice(-18)
    # Where the kernel has no groups of sessions, nice is enough.
    group = pathlib.Path("/proc/self/autogroup")
    if group.exists():
        group.write_text("-18")
