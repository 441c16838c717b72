// The graph of a program: pending sums, what completes them, and layers that
// are drawn once.
// RUN: split-file %s %t
// RUN: tpsp-opt %t/row.mlir --tpsp-graph | FileCheck %s
// RUN: tpsp-opt %t/layers.mlir --tpsp-graph | FileCheck %s --check-prefix=LAYERS
// RUN: tpsp-opt %t/layers.mlir --tpsp-graph="every-layer" | FileCheck %s --check-prefix=EVERY
// RUN: tpsp-opt %S/../../examples/tp-sp-fsdp.mlir --tpsp-graph > %t/example.dot
// RUN: python3 %t/wellformed.py %t/example.dot

// CHECK: digraph "low_grad" {
// CHECK: label="forward";
// CHECK: [[Y:n[0-9]+]] [label="y[s, d | sum@tp]\neinsum", style=dashed, color=firebrick];
// CHECK: [[Z:n[0-9]+]] [label="z[s, f | sum@tp]\neinsum", style=dashed, color=firebrick];
// CHECK: [[R:n[0-9]+]] [shape=hexagon, style=filled, fillcolor=mistyrose, label="all_reduce over tp\n96 B per rank"];
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
tpsp.program <s = 2, d = 4, e = 8, f = 8> {
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
