// The recipe of docs/HandWrittenCode.md, with the page's own files, and other
// mistakes than the page's.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: cd %t && python3 files.py %S/../../docs/HandWrittenCode.md
// RUN: cd %t && tpsp-run layer.mlir --grad --verify --quiet --save-all right.safetensors
// RUN: cd %t && python3 ranks.py && python3 judge.py right.safetensors rank?.safetensors | FileCheck %s
// CHECK: {{^}}g[down]    right, divided along dimension 1{{$}}
// CHECK: {{^}}g[gain]    each rank has a summand: an all-reduce is missing{{$}}
// CHECK: {{^}}g[up]      right, divided along dimension 0{{$}}
// CHECK: {{^}}g[x]       right, divided along dimension 1{{$}}
// RUN: cd %t && python3 mistakes.py && python3 judge.py right.safetensors rank?.safetensors | FileCheck %s --check-prefix=MISTAKES
// MISTAKES: {{^}}g[down]    4 times the right one, divided along dimension 1{{$}}
// MISTAKES: {{^}}g[gain]    right on every rank{{$}}
// MISTAKES: {{^}}g[up]      of other ranks, divided along dimension 0: [1, 2, 3, 0]{{$}}
// MISTAKES: {{^}}g[x]       wrong{{$}}

//--- files.py
import re, sys

page = open(sys.argv[1]).read()
for text in re.findall(r"```\w+\n(.*?)```", page, re.S):
    if named := re.match(r"(?://|#) (\S+)\n", text):
        open(named[1], "w").write(text)

//--- mistakes.py
from safetensors.numpy import load_file, save_file

right = load_file("right.safetensors")
ranks = [load_file(f"rank{i}.safetensors") for i in range(4)]
for i, rank in enumerate(ranks):
    save_file({"g[down]": rank["g[down]"] * 4, "g[gain]": right["g[gain]"],
               "g[up]": ranks[(i + 1) % 4]["g[up]"], "g[x]": rank["g[x]"] * 1.5}, f"rank{i}.safetensors")
