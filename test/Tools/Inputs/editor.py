"""Plays an editor to a language server: editor.py SERVER EXAMPLES SCRIPT.

The script is a lit test. Its lines `//> COMMAND ARGUMENTS` are done in order,
and what the server answers is printed.

  open EXAMPLE           opens an example of the folder EXAMPLES
  text                   opens what the script has between lines "//---"
  replace "X" "Y"        edits the text: the first X becomes Y
  hover "X" [N]          hovers N characters (0) after the beginning of X
  complete "X" [N]       asks for completions there, and prints their names
  define "X" [N]         asks for the definition, and prints its line
  references "X" [N]     prints the lines of all uses
  symbols                prints the functions
"""

import json
import os
import shlex
import subprocess
import sys

URI = "file:///program.mlir"


class Editor:
    def __init__(self, server, examples, script):
        self.examples = examples
        self.script = script
        self.server = subprocess.Popen(
            [server], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        self.version = 0
        self.text = ""
        self.ask("initialize", {"processId": 1, "capabilities": {}})
        self.tell("initialized", {})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.server.stdin.flush()

    def read(self):
        size = 0
        while (line := self.server.stdout.readline()) != b"\r\n":
            if not line:
                sys.exit("the server ended")
            name, value = line.split(b":")
            if name.lower() == b"content-length":
                size = int(value)
        return json.loads(self.server.stdout.read(size))

    def tell(self, method, params):
        self.send({"method": method, "params": params})

    def ask(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        answer = self.read()
        assert answer["id"] == self.number, answer
        return answer["result"]

    def place(self, needle, offset=0):
        before = self.text[: self.text.index(needle) + int(offset)]
        # The protocol counts UTF-16 units.
        column = len(before.split("\n")[-1].encode("utf-16-le")) // 2
        return {
            "textDocument": {"uri": URI},
            "position": {"line": before.count("\n"), "character": column},
        }

    def diagnostics(self):
        found = self.read()["params"]["diagnostics"]
        for each in found:
            start = each["range"]["start"]
            kind = {1: "error", 2: "warning"}[each["severity"]]
            print(f"{kind} at {start['line'] + 1}:{start['character'] + 1}:",
                  each["message"])
        if not found:
            print("no problems")

    def do_open(self, name):
        path = os.path.join(self.examples, name)
        self.begin(open(path, encoding="utf-8").read())

    def do_text(self):
        self.begin(self.script.split("//---\n")[1])

    def begin(self, text):
        self.text = text
        self.tell("textDocument/didOpen", {"textDocument": {
            "uri": URI, "languageId": "mlir", "version": 0, "text": self.text}})
        self.diagnostics()

    def do_replace(self, old, new):
        start = self.place(old)["position"]
        end = self.place(old, len(old))["position"]
        self.text = self.text.replace(old, new, 1)
        self.version += 1
        self.tell("textDocument/didChange", {
            "textDocument": {"uri": URI, "version": self.version},
            "contentChanges": [
                {"range": {"start": start, "end": end}, "text": new}]})
        self.diagnostics()

    def do_hover(self, *place):
        answer = self.ask("textDocument/hover", self.place(*place))
        print(answer["contents"]["value"] if answer else "nothing")

    def do_complete(self, *place):
        answer = self.ask("textDocument/completion", {
            **self.place(*place), "context": {"triggerKind": 1}})
        print(" ".join(item["label"] for item in answer["items"]))

    def do_define(self, *place):
        for each in self.ask("textDocument/definition", self.place(*place)):
            print("defined on line", each["range"]["start"]["line"] + 1)

    def do_references(self, *place):
        answer = self.ask("textDocument/references", {
            **self.place(*place), "context": {"includeDeclaration": True}})
        print("used on", *(each["range"]["start"]["line"] + 1
                           for each in answer))

    def do_symbols(self):
        answer = self.ask("textDocument/documentSymbol",
                          {"textDocument": {"uri": URI}})
        print(" ".join(each["name"] for each in answer))

    def end(self):
        self.ask("shutdown", {})
        self.tell("exit", {})
        return self.server.wait()


def main():
    server, examples, path = sys.argv[1:]
    script = open(path, encoding="utf-8").read()
    editor = Editor(server, examples, script)
    for line in script.split("\n"):
        if line.startswith("//> "):
            print(line.strip())
            command, *arguments = shlex.split(line[4:])
            getattr(editor, "do_" + command)(*arguments)
    sys.exit(editor.end())


main()
