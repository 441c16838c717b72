"""The planner's searches that a page defines, and figures as pages write them."""
import json
import os
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def three_digits(value):
    return f"{value:#.3g}".rstrip(".") if value < 1000 else f"{value:.0f}"


def time_text(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size or unit == "µs":
            return f"{three_digits(seconds / size)} {unit}"


def bytes_text(count):
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size or unit == "KiB":
            return f"{count / size:.1f} {unit}"


class Definitions:
    """The commands that the page defines."""

    def __init__(self, text):
        self.aliases = dict(re.findall(r"^alias (\w+)='([^']*)'$", text, re.M))
        self.imports = {line.split()[-1]: line
                        for line in re.findall(r"^tpsp-import .* -o \S+$", text, re.M)}
        self.plans = {}

    def commands(self, text):
        """Returns the searches that a text has between backticks."""
        return re.findall(r"`((?:%s) [^`]*)`" % "|".join(self.aliases), text)

    def config(self, name):
        """Returns the configuration of a model's file."""
        model = self.imports[name].split()[1]
        return ROOT / "test" / "Import" / "Inputs" / "published" / f"{model}.json"

    def model(self, name):
        if os.path.exists(name):
            return
        words = self.imports[name].split()
        words[1] = self.config(name)
        subprocess.run(words, check=True)

    def words(self, command):
        """Returns a command without aliases, and makes its model."""
        words = command.split()
        while words[0] in self.aliases:
            words[:1] = shlex.split(self.aliases[words[0]])
        for word in words:
            if word in self.imports:
                self.model(word)
        return words

    def run(self, command):
        """Returns the plans that a command finds, in order."""
        if command not in self.plans:
            words = [*self.words(command), "--rows", "40", "--seconds", "0", "--json"]
            printed = subprocess.run(words, check=True, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, text=True).stdout
            matrix = json.loads(printed)
            self.plans[command] = [{**plan, "devices": matrix["devices"], "tokens": matrix["tokens"],
                                    "limit": matrix["memory_limit"]} for plan in matrix["plans"]]
        return self.plans[command]
