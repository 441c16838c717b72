"""Gives runs priority over others on a machine that is in use."""
import os
import pathlib


def prefer():
    """Called in a child process, as root: begins a session with priority.

    Linux shares cores between sessions first (autogroups).
    """
    os.setsid()
    os.nice(-18)
    # If the kernel does not group sessions, nice is enough.
    group = pathlib.Path("/proc/self/autogroup")
    if group.exists():
        group.write_text("-18")
