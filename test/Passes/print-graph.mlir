// The graph of a program: pending sums, what completes them, and layers that
// are drawn once.
// RUN: split-file %s %t
// RUN: tpsp-opt %t/row.mlir --tpsp-graph | FileCheck %s
// RUN: tpsp-opt %t/layers.mlir --tpsp-graph | FileCheck %s --check-prefix=LAYERS
// RUN: tpsp-opt %t/layers.mlir --tpsp-graph="every-layer" | FileCheck %s --check-prefix=EVERY
// RUN: tpsp-opt %S/../../examples/tp-sp-fsdp.mlir --tpsp-graph > %t/example.dot
// RUN: python3 %t/wellformed.py %t/example.dot

// Collectives read nodes that are drawn: of layers that are not drawn, of
// several layers at once, between layers, and of written-out micro-batches.
// RUN: tpsp-opt %S/../../examples/pp.mlir --tpsp-graph > %t/example.dot
// RUN: python3 %t/wellformed.py %t/example.dot
// RUN: tpsp-opt %S/../../examples/gpt2-small.mlir --tpsp-graph > %t/example.dot
// RUN: python3 %t/wellformed.py %t/example.dot
// RUN: sed 's/tp = 1 : model/tp = 2 : model/' %S/../../examples/llama-tiny.mlir > %t/llama.mlir
// RUN: tpsp-opt %t/llama.mlir --tpsp-graph="micro-batches=2 overlap=on" > %t/example.dot
// RUN: python3 %t/wellformed.py %t/example.dot

// Equal nodes of what runs once a step, for six layers, are one.
// RUN: tpsp-opt %t/llama.mlir --tpsp-graph="micro-batches=4" > %t/example.dot
// RUN: python3 %t/wellformed.py %t/example.dot
// RUN: FileCheck %s --check-prefix=EQUAL --input-file %t/example.dot
// EQUAL: label="g[layers.0.w2][d, e@tp | sum@dp]\nreshard x 6"];
// EQUAL-NOT: g[layers.1.w2]

// An axis of one rank has no collectives and no pending sums.
// RUN: tpsp-opt %S/../../examples/llama-tiny.mlir --tpsp-graph > %t/example.dot
// RUN: python3 %t/wellformed.py %t/example.dot
// RUN: FileCheck %s --check-prefix=ALONE --input-file %t/example.dot
// ALONE-NOT: over tp
// ALONE-NOT: 0 B per rank
// ALONE: all_reduce over dp

// ALONE-NOT: 0 B per rank

// CHECK: digraph "low_grad" {
// Browsers fit the picture of Graphviz to the page.
// CHECK: graph [stylesheet="data:text/css,svg{max-width:100%25;height:auto}"];
// CHECK: label="forward";
// CHECK: [[Y:n[0-9]+]] [style=dashed, color=firebrick, label="y[s, d | sum@tp]\neinsum"];
// CHECK: [[Z:n[0-9]+]] [style=dashed, color=firebrick, label="z[s, f | sum@tp]\neinsum"];
// CHECK: [[R:n[0-9]+]] [shape=hexagon, style=filled, fillcolor=mistyrose, label="all_reduce over tp\n24 B per rank"];
// CHECK: label="backward";
// CHECK-DAG: [[Y]] -> [[Z]] [style=dashed, color=firebrick];
// CHECK-DAG: [[Z]] -> [[R]] [style=dashed, color=firebrick];
// CHECK-DAG: [shape=cylinder, label="down[d, e@tp]"];
// CHECK-DAG: [shape=ellipse, label="v[s, e@tp]"];

// LAYERS: style=rounded; label="x 3 (layer0 to layer2)";
// LAYERS-COUNT-1: tanh"];
// LAYERS: label="backward";
// LAYERS: style=rounded; label="x 3 (layer2 to layer0)";
// LAYERS: label="next of 3"];
// EVERY-COUNT-3: tanh"];
// EVERY-NOT: next of

//--- row.mlir
tpsp.program <s = 2, d = 4, e = 8, f = 2> {
mesh @mesh <tp = 4 : model>
func @low(%v: [s, e@tp], param %down: [d, e@tp], param %out: [f, d]) -> [s, f] {
  %y = einsum %down, %v -> [s, d | sum@tp]
  %z = einsum %out, %y -> [s, f]
  return %z
}
}

//--- layers.mlir
tpsp.program <s = 2, d = 4, e = 8> {
mesh @mesh <tp = 2 : model>
func private @layer(%x: [s, d], param %up: [e@tp, d], param %down: [d, e@tp]) -> [s, d] {
  %u = einsum %up, %x -> [s, e, ?]
  %a = tanh %u
  %y = einsum %down, %a -> [s, d]
  return %y
}
func @model(%x: [s, d]) -> [s, d] {
  %y = repeat 3 @layer(%x) as "*#"
  return %y
}
}

//--- wellformed.py
import re, sys

text = open(sys.argv[1]).read()
assert text.count("{") == text.count("}")
defined = set(re.findall(r"^ *(n\d+) \[", text, re.M))
edges = re.findall(r"^ *(n\d+) -> (n\d+)", text, re.M)
assert edges and {n for edge in edges for n in edge} <= defined
# A collective of many layers' tensors has one edge from the layer that is drawn.
hexagons = set(re.findall(r"^ *(n\d+) \[shape=hexagon", text, re.M))
into = [edge for edge in edges if edge[1] in hexagons]
assert len(into) == len(set(into))
# Every equation and collective is reached.
reached = {to for _, to in edges}
for node, attributes in re.findall(r"^ *(n\d+) \[(.*)\];", text, re.M):
    if "cylinder" not in attributes and "ellipse" not in attributes:
        assert node in reached, attributes
