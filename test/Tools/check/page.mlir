// The example of docs/Check.md, with the page's own files, says what the page
// says.
// REQUIRES: tpsp-run, numpy
// RUN: split-file %s %t
// RUN: cd %t && python3 files.py %docs/Check.md
// RUN: cd %t && tpsp-run layer.mlir --grad --quiet --save-all right.safetensors
// RUN: cd %t && python3 ranks.py
// RUN: cd %t && not tpsp-check layer.mlir --numbers dump | sed /evidence/d > said.txt
// RUN: cd %t && sed /evidence/d page.txt | diff said.txt -

//--- files.py
import re, sys

page = open(sys.argv[1]).read()
for text in re.findall(r"```\w*\n(.*?)```", page, re.S):
    if named := re.match(r"(?://|#) (\S+)\n", text):
        open(named[1], "w").write(text)
    if text.startswith("wrong: "):
        open("page.txt", "w").write(text)
